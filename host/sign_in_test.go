package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
)

// club is an MCP server that only those come into who have signed in. It is its own
// authorization server, and takes every token back when its tool leave is called. Its
// tokens all have the word PLANTED in them.
type club struct {
	url string

	mu     sync.Mutex
	given  int
	good   map[string]bool
	orders int
}

func openClub(t *testing.T) *club {
	t.Helper()
	c := &club{good: map[string]bool{}}
	s := sdk.NewServer(&sdk.Implementation{Name: "club", Version: "1"}, nil)
	tool := func(name string, does func()) {
		s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			does()
			return &sdk.CallToolResult{Content: []sdk.Content{}, StructuredContent: map[string]any{"orders": c.orders}}, nil
		})
	}
	tool("order", func() { c.orders++ })
	tool("leave", func() { clear(c.good) })
	inside := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			c.serveIssuer(w, r)
			return
		}
		c.mu.Lock()
		in := c.good[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		c.mu.Unlock()
		if !in {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inside.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		for session := range s.Sessions() {
			_ = session.Close() // its connection is cut
		}
	})
	c.url = web.URL
	return c
}

// serveIssuer agrees to everything.
func (c *club) serveIssuer(w http.ResponseWriter, r *http.Request) {
	answer := func(v map[string]any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		answer(map[string]any{"resource": c.url + "/mcp", "authorization_servers": []string{c.url}})
	case "/.well-known/oauth-authorization-server":
		answer(map[string]any{"issuer": c.url, "authorization_endpoint": c.url + "/authorize", "token_endpoint": c.url + "/token",
			"registration_endpoint": c.url + "/register", "response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}})
	case "/register":
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"client_id":"quoin","client_secret":"PLANTED-secret"}`)
	case "/authorize":
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"PLANTED-code"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	case "/token":
		c.mu.Lock()
		defer c.mu.Unlock()
		c.given++
		token := fmt.Sprint("PLANTED-token-", c.given)
		c.good[token] = true
		answer(map[string]any{"access_token": token, "token_type": "Bearer"})
	default:
		http.NotFound(w, r)
	}
}

func (c *club) server() mcp.Server { return mcp.Server{Name: "club", URL: c.url + "/mcp"} }

// ordered returns how often order was called.
func (c *club) ordered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.orders
}

// signIns opens the sign-ins of a state directory, as another process may.
func signIns(t *testing.T, dir string) *mcp.SignIns {
	t.Helper()
	state := openState(t, dir)
	approvals := state.Approvals()
	s, err := state.SignIns(mcp.SignInOptions{Logger: slog.New(slog.DiscardHandler), OnSignIn: func(ctx context.Context, in mcp.SignIn) error {
		_, err := policy.AnswerAuthorization(ctx, approvals, in.Server, in.Covers, "sign-in", time.Now())
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// visit opens a link like the browser of a user who agrees.
func visit(link string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(link)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || bytes.Contains(text, []byte("PLANTED"))) {
		err = fmt.Errorf("%d %s", resp.StatusCode, text)
	}
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	return err
}

// inClub returns a host with its state in dir and a log that a test reads.
func inClub(t *testing.T, dir string, c *club, log *bytes.Buffer) (*host.Host, *mcp.SignIns) {
	t.Helper()
	s := signIns(t, dir)
	cfg := host.Config{Logger: slog.New(slog.NewTextHandler(&locked{w: log}, nil))}
	cfg.MCP = host.MCPConfig{Servers: []mcp.Server{c.server()}, Wait: time.Minute, SignIns: s, Pins: openState(t, dir).Pins()}
	return start(t, kept(t, dir, cfg)), s
}

// locked is a writer for many goroutines.
type locked struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes.
func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

const leaving = `await MCP.club.leave(); const r = await MCP.club.order(); return r.structuredContent.orders`

// TestASignInInTheMiddleOfACell: the token ends between two calls. The run waits with the
// link, and resumes as if nothing had happened, in the same host or in the next; the call that
// was refused is made once. A program neither catches nor skips it.
func TestASignInInTheMiddleOfACell(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		restart bool
		signIn  func(t *testing.T, link string, c *club, dir string, own *mcp.SignIns) error
	}{
		{"by the link", false, func(_ *testing.T, link string, _ *club, _ string, _ *mcp.SignIns) error { return visit(link) }},
		{"by another process", false, func(t *testing.T, _ string, c *club, dir string, _ *mcp.SignIns) error {
			_, err := signIns(t, dir).Login(t.Context(), c.server(), codemode.Session{}, visit)
			return err
		}},
		{"while there is no host", true, func(t *testing.T, _ string, c *club, dir string, _ *mcp.SignIns) error {
			_, err := signIns(t, dir).Login(t.Context(), c.server(), codemode.Session{}, visit)
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir, c := t.TempDir(), openClub(t)
			var log bytes.Buffer
			if _, err := signIns(t, dir).Login(t.Context(), c.server(), codemode.Session{}, visit); err != nil {
				t.Fatal(err)
			}
			h, own := inClub(t, dir, c, &log)
			web := httptest.NewUnstartedServer(nil)
			web.Config.Handler = own.Callback("http://" + web.Listener.Addr().String() + "/oauth/callback")
			web.Start()
			defer web.Close()
			id := wantWaiting(t, h.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `try { ` + leaving + ` } catch (e) { return e.message }`}), codemode.ReasonApproval)
			asked, err := h.Approvals().List(t.Context(), policy.Filter{})
			if err != nil || len(asked) != 1 || len(asked[0].Questions) != 1 {
				t.Fatalf("%+v, %v", asked, err)
			}
			q := asked[0].Questions[0]
			if q.Kind != codemode.QuestionAuthorization || q.From != "club" || !strings.HasPrefix(q.URL, c.url+"/authorize?") || !strings.Contains(q.Message, "of all who use this host") {
				t.Errorf("%+v", q)
			}
			if n := c.ordered(); n != 0 {
				t.Errorf("%d orders before the sign-in", n)
			}
			if tc.restart {
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := tc.signIn(t, q.URL, c, dir, own); err != nil {
				t.Fatal(err)
			}
			if tc.restart {
				h, _ = inClub(t, dir, c, &log)
			}
			wantValue(t, h.Wait(t.Context(), me, id), `1`)
			if n := c.ordered(); n != 1 {
				t.Errorf("%d orders, expected one", n)
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			wantNoSecret(t, dir, log.String())
		})
	}
}

// wantNoSecret looks for a token in the files of a state directory, also in the heaps that
// are in them, and in a log.
func wantNoSecret(t *testing.T, dir, log string) {
	t.Helper()
	if strings.Contains(log, "PLANTED") {
		t.Error("a secret is in the log")
	}
	wantNowhere(t, dir, "PLANTED")
}

// TestAServerThatWantsASignIn keeps the tools that are known of it, says what to do,
// and is there once someone has.
func TestAServerThatWantsASignIn(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), openClub(t)
	var log bytes.Buffer
	first, _ := inClub(t, dir, c, &log)
	if st := first.MCPStatus()[0]; !st.NeedsSignIn || st.Tools != 0 || !strings.Contains(st.Error.Error(), "needs sign-in: run quoin mcp login club") {
		t.Errorf("%+v", st)
	}
	if r := exec(first, `return await MCP.club.order()`); !strings.Contains(r.Error, "A person has to run quoin mcp login club;") {
		t.Errorf("a server that no one has signed in to: %s", r.Error)
	}
	if _, err := signIns(t, dir).Login(t.Context(), c.server(), codemode.Session{}, visit); err != nil {
		t.Fatal(err)
	}
	waitConnected(t, first)
	wantValue(t, first.Exec(t.Context(), me, host.ExecInput{Code: leaving[len("await MCP.club.leave(); "):]}), `1`)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	clear(c.good)
	c.mu.Unlock()
	second, _ := inClub(t, dir, c, &log)
	if st := second.MCPStatus()[0]; !st.NeedsSignIn || st.Tools != 2 {
		t.Errorf("%+v", st)
	}
	id := wantWaiting(t, second.Exec(host.WithAskingCaller(t.Context()), me, host.ExecInput{Code: `return (await MCP.club.order()).structuredContent.orders`}), codemode.ReasonApproval)
	if _, err := signIns(t, dir).Login(t.Context(), c.server(), codemode.Session{}, visit); err != nil {
		t.Fatal(err)
	}
	wantValue(t, second.Wait(t.Context(), me, id), `2`)
}

// waitConnected waits until the only server of a host is connected.
func waitConnected(t *testing.T, h *host.Host) {
	t.Helper()
	for h.MCPStatus()[0].State != mcp.StateConnected {
		select {
		case <-t.Context().Done():
			t.Fatal("it was not connected in time")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
