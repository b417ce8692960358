package oauth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/documents"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a server on the network and its authorization server, which agrees to
// everything unless a test has it do otherwise.
type world struct {
	t        *testing.T
	resource *httptest.Server
	issuer   *httptest.Server

	mu        sync.Mutex
	life      time.Duration // of tokens; 0 is for ever
	rotate    bool          // refresh tokens
	meta      map[string]any
	about     map[string]any // metadata of the resource
	challenge string
	path      string // of the issuer
	status    int    // of refusals
	codes     map[string]url.Values
	good      map[string]bool // access tokens
	refresh   map[string]bool
	issued    int
	called    int // requests of the resource that got through
	seen      []string
	register  func(w http.ResponseWriter, r *http.Request)
	redirect  func(to url.Values) // changes what the browser brings back
	tokenFail *tokenFail          // of the token endpoint
	onToken   func()              // is called before the token endpoint answers
}

// tokenFail is an answer of the token endpoint that has no token.
type tokenFail struct {
	status int
	code   string
}

// newWorld starts both servers.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, codes: map[string]url.Values{}, good: map[string]bool{}, refresh: map[string]bool{}, status: http.StatusUnauthorized}
	w.issuer = httptest.NewServer(http.HandlerFunc(w.serveIssuer))
	t.Cleanup(w.issuer.Close)
	w.resource = httptest.NewServer(http.HandlerFunc(w.serveResource))
	t.Cleanup(w.resource.Close)
	w.meta = map[string]any{
		"issuer": w.issuer.URL, "authorization_endpoint": w.issuer.URL + "/authorize", "token_endpoint": w.issuer.URL + "/token",
		"registration_endpoint": w.issuer.URL + "/register", "revocation_endpoint": w.issuer.URL + "/revoke",
		"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		"authorization_response_iss_parameter_supported": true, "token_endpoint_auth_methods_supported": []string{"none"},
	}
	w.about = map[string]any{"resource": w.resource.URL + "/mcp", "authorization_servers": []string{w.issuer.URL}}
	return w
}

func (w *world) server() *Server { return &Server{Name: "tracker", URL: w.resource.URL + "/mcp"} }

// serveResource is the server.
func (w *world) serveResource(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource") {
		answer(rw, w.about)
		return
	}
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !w.good[token] {
		rw.Header().Set("WWW-Authenticate", "Bearer "+w.challenge)
		rw.WriteHeader(w.status)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || string(body) != "call" {
		w.t.Errorf("a call of %q: %v", body, err)
	}
	w.called++
}

func answer(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v)
}

// serveIssuer is the authorization server.
func (w *world) serveIssuer(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, r.URL.Path)
	if err := r.ParseForm(); err != nil {
		w.t.Error(err)
	}
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server" + w.path:
		answer(rw, w.meta)
	case "/register":
		if w.register != nil {
			w.register(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusCreated)
		fmt.Fprint(rw, `{"client_id":"registered","token_endpoint_auth_method":"none"}`)
	case "/authorize":
		code := fmt.Sprint("PLANTED-code-", len(w.codes))
		w.codes[code] = r.Form
		back := url.Values{"code": {code}, "state": {r.Form.Get("state")}, "iss": {w.issuer.URL}}
		if w.redirect != nil {
			w.redirect(back)
		}
		http.Redirect(rw, r, r.Form.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	case "/token":
		if w.onToken != nil {
			w.onToken()
		}
		if w.tokenFail != nil {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(w.tokenFail.status)
			fmt.Fprintf(rw, `{"error":%q}`, w.tokenFail.code)
			return
		}
		w.token(rw, r.Form)
	case "/revoke":
		delete(w.good, r.Form.Get("token"))
		delete(w.refresh, r.Form.Get("token"))
	default:
		http.NotFound(rw, r)
	}
}

// token answers the token endpoint.
func (w *world) token(rw http.ResponseWriter, form url.Values) {
	fail := func(code string) {
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(rw, `{"error":%q,"error_description":"PLANTED words"}`, code)
	}
	scope := ""
	switch form.Get("grant_type") {
	case "authorization_code":
		asked, ok := w.codes[form.Get("code")]
		delete(w.codes, form.Get("code"))
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		switch {
		case !ok, asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]), asked.Get("code_challenge_method") != "S256",
			asked.Get("redirect_uri") != form.Get("redirect_uri"), asked.Get("client_id") != form.Get("client_id"):
			fail("invalid_grant")
			return
		}
		scope = asked.Get("scope")
	case "refresh_token":
		if !w.refresh[form.Get("refresh_token")] {
			fail("invalid_grant")
			return
		}
		if w.rotate {
			delete(w.refresh, form.Get("refresh_token"))
		}
	default:
		fail("unsupported_grant_type")
		return
	}
	if form.Get("resource") != w.about["resource"] {
		fail("invalid_target")
		return
	}
	w.issued++
	access, refresh := fmt.Sprint("PLANTED-access-", w.issued), fmt.Sprint("PLANTED-refresh-", w.issued)
	w.good[access], w.refresh[refresh] = true, true
	out := map[string]any{"access_token": access, "token_type": "Bearer", "refresh_token": refresh}
	if scope != "" {
		out["scope"] = scope
	}
	if w.life > 0 {
		out["expires_in"] = int(w.life / time.Second)
	}
	answer(rw, out)
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// count reads a number of the world.
func (w *world) count(n *int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *n
}

// testCipher returns a cipher with the key that every store of the tests has.
func testCipher(t *testing.T) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	return aead
}

// inDir returns a client that keeps its grants in a directory.
func inDir(t *testing.T, dir string) *Client {
	t.Helper()
	docs, err := documents.OpenDir(dir, documents.DirOptions{MaxBytes: MaxDocument, Private: true})
	if err != nil {
		t.Fatal(err)
	}
	return New(documents.Sealed(docs, documents.Encrypted(testCipher(t))), Options{})
}

// open returns a client of a directory, and where browsers come back to.
func open(t *testing.T, dir string) (*Client, string) {
	t.Helper()
	c := inDir(t, dir)
	web := httptest.NewUnstartedServer(nil)
	address := "http://" + web.Listener.Addr().String() + "/oauth/callback"
	web.Config.Handler = c.Callback(address)
	web.Start()
	t.Cleanup(web.Close)
	return c, address
}

// call makes a request of a session.
func call(t *testing.T, c *Client, s *Server, who codemode.Session) error {
	t.Helper()
	base := &http.Transport{DisableKeepAlives: true}
	tr := &Transport{Base: base, Client: c, Server: s}
	req, err := http.NewRequestWithContext(WithCaller(t.Context(), who), http.MethodPost, s.URL, strings.NewReader("call"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// browse opens a link as a browser does, and returns what it shows in the end.
func browse(t *testing.T, link string) (status int, page string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// planted fails if a text or a file of a directory has a secret in it.
func planted(t *testing.T, dir string, texts ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		texts = append(texts, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		if strings.Contains(text, "PLANTED") {
			t.Errorf("a secret stands in %q", text)
		}
	}
}
