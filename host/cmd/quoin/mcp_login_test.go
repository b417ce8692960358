package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// loginToken is what the server of the test wants.
const loginToken = "s3cret-token"

// newLoginServer is an MCP server behind a sign-in, which everyone gets who follows the
// link. It counts revocations.
func newLoginServer(t *testing.T) (address string, revoked *atomic.Int32) {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "\x1b[2Jtracker", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "find", Description: "Finds\u202e issues."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, nil
	})
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	revoked = new(atomic.Int32)
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	answer := func(path string, v any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(v); err != nil {
				t.Error(err)
			}
		})
	}
	answer("/.well-known/oauth-protected-resource/mcp", map[string]any{"resource": web.URL + "/mcp", "authorization_servers": []string{web.URL}})
	answer("/.well-known/oauth-authorization-server", map[string]any{
		"issuer": web.URL, "authorization_endpoint": web.URL + "/authorize", "token_endpoint": web.URL + "/token", "revocation_endpoint": web.URL + "/revoke",
		"registration_endpoint": web.URL + "/register", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"token_endpoint_auth_methods_supported": []string{"none"},
	})
	answer("/token", map[string]any{"access_token": loginToken, "token_type": "Bearer", "expires_in": 3600})
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"client_id":"c","token_endpoint_auth_method":"none"}`)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"c"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/revoke", func(http.ResponseWriter, *http.Request) { revoked.Add(1) })
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+loginToken {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, r)
	})
	return web.URL + "/mcp", revoked
}

// following is a standard error with a reader that opens the link that it shows.
type following struct {
	text   bytes.Buffer
	opened chan error
}

var shownLink = regexp.MustCompile(`  (http://\S+)\n`)

func (f *following) Write(p []byte) (int, error) {
	n, err := f.text.Write(p)
	if link := shownLink.FindStringSubmatch(string(p)); link != nil {
		go func() {
			f.opened <- open(link[1])
		}()
	}
	return n, err
}

// open opens a link as a browser does.
func open(link string) error {
	r, err := http.Get(link)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return err
}

// TestMCPLogin goes through the life of a sign-in, as a person at a terminal does.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	address, revoked := newLoginServer(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "quoin.json5")
	if err := os.WriteFile(config, []byte("{ mcp: { servers: {\n  prog: { command: 'x' },\n} } }"), 0o600); err != nil {
		t.Fatal(err)
	}
	stderr := &following{opened: make(chan error, 1)}
	do := func(code int, want string, args ...string) {
		t.Helper()
		var stdout bytes.Buffer
		stderr.text.Reset()
		if got := run(t.Context(), append(args, "--config", config), strings.NewReader(""), &stdout, stderr); got != code {
			t.Fatalf("%q: exit code %d, want %d\n%s%s", args, got, code, &stdout, &stderr.text)
		}
		all := stdout.String() + stderr.text.String()
		if !regexp.MustCompile(want).MatchString(all) {
			t.Errorf("%q printed\n%s\nwant %s", args, all, want)
		}
		if strings.Contains(all, loginToken) || !slices.Contains(args, "--json") && strings.ContainsAny(all, "\x1b\u202e") {
			t.Errorf("%q printed %q", args, all)
		}
	}
	state := "--state=" + filepath.Join(dir, "state")
	do(0, `added tracker: http://127`, "mcp", "add", "tracker", "--url", address)
	do(1, `tracker is down: needs sign-in: run quoin mcp login tracker`, "mcp", "test", "tracker", state)
	do(1, `there is no sign-in to tracker: quoin mcp login tracker --config .* makes one`, "mcp", "logout", "tracker", state)
	do(1, `prog is a program, to which no one signs in`, "mcp", "login", "prog", state)
	do(1, `did you mean tracker\?`, "mcp", "login", "traker", state)
	do(0, `(?s)signed in to tracker by http://127.*Sign in to tracker in a browser`, "mcp", "login", "tracker", "--no-browser", state)
	if err := <-stderr.opened; err != nil {
		t.Error(err)
	}
	do(0, `(?s)tracker is connected: \[2Jtracker 1.*suspicious: description of find has characters that turn`, "mcp", "test", "tracker", state)
	do(0, `the sign-in to tracker is forgotten`, "mcp", "logout", "tracker", state)
	if revoked.Load() != 1 {
		t.Errorf("%d revocations", revoked.Load())
	}
	do(1, `needs sign-in`, "mcp", "test", "tracker", state)
	do(0, `"signedIn":true.*"expires":`, "mcp", "login", "tracker", "--no-browser", "--json", state)
	if err := <-stderr.opened; err != nil {
		t.Error(err)
	}
	do(0, `"state":"connected"`, "mcp", "test", "tracker", "--json", state)
}
