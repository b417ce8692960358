package oauth

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// TestAnswersThatDoNotCount: what a browser brings back from another server, with another
// state, or a second time, ends in a page that says so, and no token is asked for.
func TestAnswersThatDoNotCount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(w *world, back url.Values)
		want   string
	}{
		{"iss of another server", func(_ *world, back url.Values) { back.Set("iss", "https://evil.example") }, "does not come from"},
		{"iss that is nearly right", func(w *world, back url.Values) { back.Set("iss", w.issuer.URL+"/") }, "does not come from"},
		{"iss missing where it is announced", func(_ *world, back url.Values) { back.Del("iss") }, "does not come from"},
		{"error of another server", func(_ *world, back url.Values) {
			back.Set("iss", "https://evil.example")
			back.Set("error", "PLANTED")
		}, "does not come from"},
		{"refused", func(_ *world, back url.Values) {
			back.Del("code")
			back.Set("error", "access_denied")
			back.Set("error_description", "PLANTED")
		}, "access_denied"},
		{"error that is not a code", func(_ *world, back url.Values) { back.Set("error", "<b>PLANTED</b>") }, "says no"},
		{"no code", func(_ *world, back url.Values) { back.Del("code") }, "has no code"},
		{"huge code", func(_ *world, back url.Values) { back.Set("code", strings.Repeat("a", maxToken+1)) }, "has no code"},
		{"forged state", func(_ *world, back url.Values) { back.Set("state", back.Get("state")+"A") }, "not one of this host"},
		{"state of nothing", func(_ *world, back url.Values) { back.Set("state", strings.Repeat("0", 32)+".A") }, "not one of this host"},
		{"state that is a path", func(_ *world, back url.Values) { back.Set("state", "../../etc/passwd.A") }, "not one of this host"},
		{"no state", func(_ *world, back url.Values) { back.Del("state") }, "not one of this host"},
		{"state twice", func(_ *world, back url.Values) { back.Add("state", "x") }, "not one of this host"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, dir := newWorld(t), t.TempDir()
			w.redirect = func(back url.Values) { tt.change(w, back) }
			c, _ := open(t, dir)
			status, page := browse(t, ask(t, c, w.server(), codemode.Session{}))
			if status != http.StatusBadRequest || !strings.Contains(page, tt.want) {
				t.Errorf("%d %s, expected %q", status, page, tt.want)
			}
			if strings.Contains(strings.Join(w.seen, " "), "/token") {
				t.Error("a token was asked for")
			}
			planted(t, dir, page)
		})
	}
}

// TestAnOldLink tests that an old link does not work, and neither does a link with the file
// of another link.
func TestAnOldLink(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	c, _ := open(t, dir)
	link := ask(t, c, w.server(), codemode.Session{})
	id := w.server().id(Owner{})
	var f flow
	if err := c.store.read(t.Context(), id+flowExt, &f); err != nil {
		t.Fatal(err)
	}
	f.Expires = time.Now().Add(-time.Second)
	if err := c.store.write(t.Context(), id+flowExt, &f); err != nil {
		t.Fatal(err)
	}
	if status, page := browse(t, link); status != http.StatusBadRequest || !strings.Contains(page, "too old") {
		t.Errorf("%d %s", status, page)
	}
	browse(t, ask(t, c, w.server(), codemode.Session{}))
	other := w.server()
	other.Name = "other"
	if err := os.Rename(filepath.Join(dir, id+grantExt), filepath.Join(dir, other.id(Owner{})+grantExt)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find(t.Context(), other, Owner{}); err == nil || errors.Is(err, ErrNoGrant) {
		t.Errorf("the sign-in of one server counts for another: %v", err)
	}
	if err := os.Chmod(filepath.Join(dir, other.id(Owner{})+grantExt), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find(t.Context(), other, Owner{}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
}

// TestMetadataThatIsRefused: servers and authorization servers that would have a token, a
// code or a request go where it must not.
func TestMetadataThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*world, *Server)
		want   string
	}{
		{"of another audience", func(w *world, _ *Server) { w.about["resource"] = "https://bank.example/mcp" }, "another resource"},
		{"of a sibling", func(w *world, _ *Server) { w.about["resource"] = w.resource.URL + "/mc" }, "another resource"},
		{"of another issuer", func(w *world, _ *Server) { w.meta["issuer"] = "https://evil.example" }, "cannot be used"},
		{"without PKCE", func(w *world, _ *Server) { delete(w.meta, "code_challenge_methods_supported") }, "PKCE"},
		{"with plain PKCE", func(w *world, _ *Server) { w.meta["code_challenge_methods_supported"] = []string{"plain"} }, "S256"},
		{"a script as a page", func(w *world, _ *Server) { w.meta["authorization_endpoint"] = "javascript:alert(1)" }, "cannot be used"},
		{"tokens in clear", func(w *world, _ *Server) { w.meta["token_endpoint"] = "http://token.example/" }, "cannot be used"},
		{"a user in the address", func(w *world, _ *Server) { w.meta["token_endpoint"] = "https://a:b@token.example/" }, "no usable token endpoint"},
		{"no authorization server", func(w *world, _ *Server) { delete(w.about, "authorization_servers") }, "names no authorization server"},
		{"a private issuer", func(w *world, _ *Server) { w.about["authorization_servers"] = []string{"https://10.0.0.1"} }, "non-public"},
		{"a cloud's own address", func(w *world, _ *Server) { w.challenge = `resource_metadata="http://169.254.169.254/latest"` }, "an address that is neither"},
		{"a file", func(w *world, _ *Server) { w.challenge = `resource_metadata="file:///etc/passwd"` }, "an address that is neither"},
		{"huge", func(w *world, _ *Server) { w.about["resource_name"] = strings.Repeat("a", maxBody) }, "more than 1048576 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			s := w.server()
			tt.change(w, s)
			c, _ := open(t, t.TempDir())
			var failed *Error
			err := call(t, c, s, codemode.Session{})
			if !errors.As(err, &failed) || !strings.Contains(failed.Text, tt.want) || len(failed.Text) > maxErrorText {
				t.Errorf("got %v, expected %q", err, tt.want)
			}
			if strings.Contains(strings.Join(w.seen, " "), "/register") {
				t.Error("a client was registered")
			}
		})
	}
}

// TestRedirectsStayAtHome: metadata may move on its host, and nothing may leave it. Token
// endpoints do not redirect at all, because the request has the code in it.
func TestRedirectsStayAtHome(t *testing.T) {
	t.Parallel()
	taken := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { taken <- r.URL.Path }))
	defer thief.Close()
	home := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(rw, r, "/there", http.StatusFound)
		case "/there":
			answer(rw, map[string]any{"resource": "https://found.example"})
		default:
			http.Redirect(rw, r, thief.URL+"/stolen", http.StatusTemporaryRedirect)
		}
	}))
	defer home.Close()
	h, done, err := newHTTPClient(&Server{URL: home.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if meta, err := fetchResource(t.Context(), h, home.URL+"/here"); err != nil || meta.Resource != "https://found.example" {
		t.Errorf("on the same host: %+v, %v", meta, err)
	}
	if _, err := fetchResource(t.Context(), h, home.URL+"/away"); err == nil || !strings.Contains(err.Error(), errRedirect.Error()) {
		t.Errorf("to another host: %v", err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, home.URL+"/here", strings.NewReader("code=PLANTED"))
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := h.Do(req); err == nil {
		t.Errorf("a POST was redirected: %v", resp.Body.Close())
	}
	if len(taken) > 0 {
		t.Errorf("another host was asked for %s", <-taken)
	}
}

// TestWhatMayBeReached: the addresses, by what the operator has configured.
func TestWhatMayBeReached(t *testing.T) {
	t.Parallel()
	public, err := url.Parse("https://mcp.example/mcp")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		ip                 string
		far, here, private bool // a server far away, one on loopback, privateNetwork
	}{
		{"8.8.8.8", true, true, true}, {"2001:4860:4860::8888", true, true, true},
		{"127.0.0.1", false, true, true}, {"::1", false, true, true}, {"::ffff:127.0.0.1", false, true, true},
		{"10.1.2.3", false, false, true}, {"192.168.0.1", false, false, true}, {"fd00::1", false, false, true}, {"100.64.0.1", false, false, true},
		{"169.254.169.254", false, false, false}, {"fe80::1", false, false, false}, {"0.0.0.0", false, false, false}, {"224.0.0.1", false, false, false}, {"::", false, false, false},
		{"64:ff9b::a9fe:a9fe", false, false, false}, {"64:ff9b::10.0.0.1", false, false, true}, {"64:ff9b::8.8.8.8", true, true, true},
	} {
		ip := netip.MustParseAddr(tt.ip)
		far, here, private := &carrier{home: hostPort(public)}, &carrier{loopback: true}, &carrier{loopback: true, private: true}
		if far.mayDial(ip) != tt.far || here.mayDial(ip) != tt.here || private.mayDial(ip) != tt.private {
			t.Errorf("%s: %v %v %v, expected %v %v %v", tt.ip, far.mayDial(ip), here.mayDial(ip), private.mayDial(ip), tt.far, tt.here, tt.private)
		}
		for _, scheme := range []string{"https", "http"} {
			u := &url.URL{Scheme: scheme, Host: "[" + tt.ip + "]"}
			if ip.Is4() {
				u.Host = tt.ip
			}
			if err := far.checkURL(u); (err == nil) != (tt.far && scheme == "https") {
				t.Errorf("%s: %v", u, err)
			}
		}
	}
	if (&Server{URL: "http://mcp.example"}).Check() == nil {
		t.Error("tokens would be sent in clear")
	}
}

// TestNamesThatLeadInside: a name is looked at once it is resolved, so that a name of the
// public that leads to loopback is not reached.
func TestNamesThatLeadInside(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	defer inside.Close()
	c := &carrier{home: "mcp.example:443"}
	if conn, err := c.dial(t.Context(), "tcp", strings.Replace(inside.Listener.Addr().String(), "127.0.0.1", "localhost", 1)); !errors.Is(err, errAddress) {
		t.Errorf("got %v, %v", conn, err)
	}
}
