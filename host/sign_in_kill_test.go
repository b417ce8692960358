package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/sqlite"
)

// signingInKey makes the test binary a host that is waiting for a sign-in to the server
// at signingInURL, in the state directory that it names. It gets stuck as one of
// inquiringKey does.
const (
	signingInKey = "QUOIN_TEST_SIGNING_IN"
	signingInURL = "QUOIN_TEST_SIGNING_IN_URL"
)

const signingInCode = `
await yield_control();
try { return (await MCP.shop.order({n: 1})).content[0].text } catch (e) { return [e.code, e.effectStatus] }`

// secretToken is an access token. It must be in no file.
const secretToken = "tok-4f1c8d0e9b7a"

// privateShop is an MCP server that lists its tools to everyone and wants a token for
// each call, together with the authorization server that gives tokens out.
type privateShop struct {
	*httptest.Server
	orders, refused atomic.Int32
	mu              sync.Mutex
	challenge       string // of the code that was given out last
	refuses         func() // called before a call is refused; nil: nothing
}

func newPrivateShop(t *testing.T) *privateShop {
	s := &privateShop{}
	tools := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	sdk.AddTool(tools, &sdk.Tool{Name: "order", Description: "Orders."}, func(context.Context, *sdk.CallToolRequest, struct {
		N int `json:"n"`
	}) (*sdk.CallToolResult, any, error) {
		s.orders.Add(1)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "ordered"}}}, nil, nil
	})
	stream := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools }, &sdk.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.guarded(t, stream))
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		s.say(t, w, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		s.say(t, w, map[string]any{
			"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		asked["client_id"] = "client-1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		if err := json.NewEncoder(w).Encode(asked); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/authorize", s.authorize)
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) { s.token(t, w, r) })
	s.Server = httptest.NewUnstartedServer(mux)
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *privateShop) say(t *testing.T, w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		t.Error(err)
	}
}

// guarded answers 401 to calls without the token.
func (s *privateShop) guarded(t *testing.T, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/call"`)) && r.Header.Get("Authorization") != "Bearer "+secretToken {
			s.refused.Add(1)
			if s.refuses != nil {
				s.refuses()
			}
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+s.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authorize is what a person consents to, who does at once.
func (s *privateShop) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	s.challenge = q.Get("code_challenge")
	s.mu.Unlock()
	back := url.Values{"code": {"code-1"}, "state": {q.Get("state")}, "iss": {s.URL}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token gives out a token for the code and its verifier.
func (s *privateShop) token(t *testing.T, w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	s.mu.Lock()
	proven := r.FormValue("code") == "code-1" && base64.RawURLEncoding.EncodeToString(sum[:]) == s.challenge
	s.mu.Unlock()
	if !proven {
		w.WriteHeader(http.StatusBadRequest)
		s.say(t, w, map[string]string{"error": "invalid_grant"})
		return
	}
	s.say(t, w, map[string]any{"access_token": secretToken, "token_type": "Bearer", "expires_in": 3600})
}

// signInConfig is a host with the shop in a state.
func signInConfig(state *sqlite.DB, address string) (host.Config, error) {
	approvals := state.Approvals()
	signIns, err := state.SignIns(mcp.SignInOptions{
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnSignIn: func(ctx context.Context, in mcp.SignIn) error {
			_, err := policy.AnswerAuthorization(ctx, approvals, in.Server, in.Covers, "sign-in", time.Now())
			return err
		},
	})
	return host.Config{
		Store: state, Approvals: host.ApprovalConfig{Store: approvals},
		MCP: host.MCPConfig{SignIns: signIns, Wait: time.Minute, Pins: state.Pins(), Servers: []mcp.Server{shopAt(address)}},
	}, err
}

func shopAt(address string) mcp.Server {
	return mcp.Server{Name: "shop", URL: address, OAuth: mcp.OAuth{PrivateNetwork: true}}
}

// signingIn is the whole life of that host.
func signingIn(dir string) error {
	state, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return err
	}
	cfg, err := signInConfig(state, os.Getenv(signingInURL))
	if err != nil {
		return err
	}
	s := &stuck{cfg.Store, os.Getenv(inquiringStage)}
	cfg.Guests.Path, cfg.Store, cfg.Logger = os.Getenv(doomedGuest), s, slog.New(slog.NewTextHandler(io.Discard, nil))
	cfg.Approvals.OnNew = func(*policy.Approval) {
		s.at("asked")
		fmt.Println("asked")
	}
	h, err := host.New(context.Background(), cfg)
	if err != nil {
		return err
	}
	r := exec(h, signingInCode)
	if r.Status != host.StatusWaiting {
		return fmt.Errorf("got %s", show(r))
	}
	fmt.Println(r.RunID)
	return fmt.Errorf("never got to the stage %q: %s", s.stage, show(h.Wait(context.Background(), me, r.RunID)))
}

// login signs in as quoin mcp login does in a process of its own. The browser is one that
// follows redirects.
func login(t *testing.T, dir, address string) {
	t.Helper()
	cfg, err := signInConfig(openState(t, dir), address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cfg.MCP.SignIns.Login(t.Context(), shopAt(address), host.Session{}, func(link string) error {
		resp, err := http.Get(link)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// stuckAtSignIn runs such a host until it is stuck, and signs in once it asks; then it kills
// the host. It returns the id of its run.
func stuckAtSignIn(t *testing.T, dir, stage, address string) string {
	t.Helper()
	p := startHost(t, signingInKey+"="+dir, signingInURL+"="+address, inquiringStage+"="+stage)
	id := ""
	for line := p.next(); line != "ready"; line = p.next() {
		if line == "asked" {
			login(t, dir, address)
		} else {
			id = line
		}
	}
	p.kill()
	if !strings.HasPrefix(id, "run_") || p.stderr.Len() > 0 {
		t.Fatalf("the host said %q\n%s", id, p.stderr.String())
	}
	return id
}

// TestHostIsKilledAroundASignIn: a 401 in the middle of a cell suspends the run, and after
// the sign-in the call is made exactly once, also when the host is killed in between.
// Where that is not known, it is not made again.
func TestHostIsKilledAroundASignIn(t *testing.T) {
	t.Parallel()
	const ordered, unknown = `"ordered"`, `["interrupted","unknown"]`
	for _, tc := range []struct {
		stage  string
		signIn bool // after the kill
		asks   bool // the second host asks once more
		want   string
		orders int32
	}{
		{"returned", false, false, unknown, 0},
		{"journaled", true, true, ordered, 1},
		{"asked", true, false, ordered, 1},
		{"answered", false, false, ordered, 1},
		{"recorded", false, false, unknown, 0},
		{"done", false, false, unknown, 1},
		{"settled", false, false, ordered, 1},
	} {
		t.Run(tc.stage, func(t *testing.T) {
			t.Parallel()
			dir, shop := mkdir(t), newPrivateShop(t)
			address := shop.URL + "/mcp"
			id := stuckAtSignIn(t, dir, tc.stage, address)
			cfg, err := signInConfig(openState(t, dir), address)
			if err != nil {
				t.Fatal(err)
			}
			desk := newDesk()
			cfg.Approvals.OnNew = func(a *policy.Approval) { desk.asked <- a }
			h := start(t, cfg)
			done := make(chan *host.Result, 1)
			go func() { done <- h.Wait(context.Background(), me, id) }()
			if tc.asks {
				a := <-desk.asked
				if len(a.Questions) != 1 || a.Questions[0].From != "shop" || a.Owner != "shop" {
					t.Errorf("asked %+v", a)
				}
			}
			if tc.signIn {
				login(t, dir, address)
			}
			wantValue(t, <-done, tc.want)
			if n := shop.orders.Load(); n != tc.orders || len(desk.asked) != 0 {
				t.Errorf("%d orders, %d more questions", n, len(desk.asked))
			}
			if tc.orders == 1 && shop.refused.Load() == 0 {
				t.Error("no call was refused")
			}
			wantNowhere(t, dir, secretToken)
		})
	}
}

// TestASignInWhileACallIsRefused counts at once: the call is made with it, and no one is
// asked for a sign-in that is there.
func TestASignInWhileACallIsRefused(t *testing.T) {
	t.Parallel()
	dir, shop := mkdir(t), newPrivateShop(t)
	address := shop.URL + "/mcp"
	cfg, err := signInConfig(openState(t, dir), address)
	if err != nil {
		t.Fatal(err)
	}
	desk := newDesk()
	cfg.Approvals.OnNew = func(a *policy.Approval) { desk.asked <- a }
	h := start(t, cfg)
	var once sync.Once
	shop.refuses = func() { once.Do(func() { login(t, dir, address) }) }
	wantValue(t, exec(h, `return (await MCP.shop.order({n: 1})).content[0].text`), `"ordered"`)
	if n := shop.orders.Load(); n != 1 || len(desk.asked) != 0 {
		t.Errorf("%d orders, %d questions", n, len(desk.asked))
	}
}
