package oauth

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// ask makes a call that has to be one for a sign-in, and returns the link.
func ask(t *testing.T, c *Client, s *Server, who codemode.Session) string {
	t.Helper()
	var required *Required
	if err := call(t, c, s, who); !errors.As(err, &required) || required.Link == "" {
		t.Fatalf("got %v, expected a link", err)
	}
	return required.Link
}

// TestACallIsMadeOnceSomeoneHasSignedIn: the link leads to a page without a secret, and
// the files have none either.
func TestACallIsMadeOnceSomeoneHasSignedIn(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	c, _ := open(t, dir)
	link := ask(t, c, w.server(), codemode.Session{})
	if again := ask(t, c, w.server(), codemode.Session{}); again != link {
		t.Error("two calls that wait have two links")
	}
	status, page := browse(t, link)
	if status != http.StatusOK || !strings.Contains(page, "You are signed in to tracker") {
		t.Fatalf("%d %s", status, page)
	}
	if err := call(t, c, w.server(), codemode.Session{}); err != nil {
		t.Fatal(err)
	}
	if n := w.count(&w.called); n != 1 {
		t.Errorf("the call was made %d times", n)
	}
	if status, page := browse(t, link); status != http.StatusBadRequest || !strings.Contains(page, "used before") {
		t.Errorf("the link a second time: %d %s", status, page)
	}
	g, err := c.Find(t.Context(), w.server(), Owner{})
	if err != nil || g.Issuer != w.issuer.URL || !g.Renewable {
		t.Errorf("%+v, %v", g, err)
	}
	planted(t, dir, page, fmt.Sprint(g))
	if _, err := c.Forget(t.Context(), w.server(), Owner{}); err != nil {
		t.Fatal(err)
	}
	if len(w.good)+len(w.refresh) != 0 {
		t.Errorf("after a logout these tokens work: %v %v", w.good, w.refresh)
	}
	if _, err := c.Forget(t.Context(), w.server(), Owner{}); !errors.Is(err, ErrNoGrant) {
		t.Errorf("a second logout: %v", err)
	}
}

// TestUsersHaveTokensOfTheirOwn: what one has agreed to does nothing for another.
func TestUsersHaveTokensOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server()
	s.PerUser = true
	c, _ := open(t, t.TempDir())
	ada, bob := codemode.Session{AgentID: "a", SessionKey: "ada"}, codemode.Session{AgentID: "a", SessionKey: "bob"}
	browse(t, ask(t, c, s, ada))
	if err := call(t, c, s, ada); err != nil {
		t.Error(err)
	}
	ask(t, c, s, bob)
	ask(t, c, s, codemode.Session{AgentID: "aada"}) // not the same parts put together otherwise
	if g, err := c.Find(t.Context(), s, s.OwnerOf(ada)); err != nil || !g.PerUser || g.Session != ada {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestSessionsWithAnIDAloneAreNotOneUser: an identity provider's tokens may name a session
// and neither agent nor key.
func TestSessionsWithAnIDAloneAreNotOneUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.server()
	s.PerUser = true
	c, _ := open(t, t.TempDir())
	ada, bob := codemode.Session{SessionID: "ada"}, codemode.Session{SessionID: "bob"}
	browse(t, ask(t, c, s, ada))
	if err := call(t, c, s, ada); err != nil {
		t.Error(err)
	}
	ask(t, c, s, bob)
	if g, err := c.Find(t.Context(), s, s.OwnerOf(ada)); err != nil || g.Session != ada {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestRefusalsOfARenewal: a server that has no time does not end a sign-in. One that
// refuses does, whatever its status.
func TestRefusalsOfARenewal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
		ends   bool
	}{
		{http.StatusTooManyRequests, "slow_down", false},
		{http.StatusRequestTimeout, "", false},
		{http.StatusBadRequest, "temporarily_unavailable", false},
		{http.StatusServiceUnavailable, "invalid_grant", false},
		{http.StatusBadRequest, "invalid_grant", true},
		{http.StatusOK, "bad_refresh_token", true},
	} {
		t.Run(fmt.Sprint(c.status, " ", c.code), func(t *testing.T) {
			w := newWorld(t)
			w.life = time.Second // always about to end
			client, _ := open(t, t.TempDir())
			browse(t, ask(t, client, w.server(), codemode.Session{}))
			w.set(func() { w.life, w.tokenFail = time.Hour, &tokenFail{c.status, c.code} })
			var required *Required
			if err := call(t, client, w.server(), codemode.Session{}); err == nil || errors.As(err, &required) != c.ends {
				t.Errorf("while it is refused: %v", err)
			}
			w.set(func() { w.tokenFail = nil })
			if err := call(t, client, w.server(), codemode.Session{}); (err == nil) == c.ends {
				t.Errorf("later: %v", err)
			}
		})
	}
}

// TestATokenIsRenewedOnce: many calls, of two processes, with a refresh token that may be
// used once.
func TestATokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	w.life, w.rotate = time.Second, true // always about to end
	c, _ := open(t, dir)
	browse(t, ask(t, c, w.server(), codemode.Session{}))
	w.set(func() { w.life = time.Hour })
	other, _ := open(t, dir)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := call(t, []*Client{c, other}[i%2], w.server(), codemode.Session{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if w.issued != 2 {
		t.Errorf("%d tokens were given, expected the first and its successor", w.issued)
	}
	// One that the server takes back before its time is renewed too.
	w.set(func() { clear(w.good) })
	if err := call(t, c, w.server(), codemode.Session{}); err != nil || w.issued != 3 {
		t.Errorf("%v, %d tokens", err, w.issued)
	}
	// Once that is refused, a person is asked.
	w.set(func() { clear(w.good); clear(w.refresh) })
	browse(t, ask(t, other, w.server(), codemode.Session{}))
	if err := call(t, c, w.server(), codemode.Session{}); err != nil {
		t.Error(err)
	}
}

// TestMoreScopes: what was granted stays, and a server that is never content is given up.
func TestMoreScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.challenge = `scope="read"`
	w.meta["scopes_supported"] = []string{"offline_access"}
	c, _ := open(t, t.TempDir())
	first := ask(t, c, w.server(), codemode.Session{})
	if got := scopeOf(t, first); got != "read offline_access" {
		t.Errorf("asked for %q", got)
	}
	browse(t, first)
	w.set(func() {
		clear(w.good)
		w.status, w.challenge = http.StatusForbidden, `error="insufficient_scope", scope="write"`
	})
	more := ask(t, c, w.server(), codemode.Session{})
	if got := scopeOf(t, more); got != "read offline_access write" {
		t.Errorf("asked for %q", got)
	}
	browse(t, more)
	w.set(func() { clear(w.good) })
	var failed *Error
	if err := call(t, c, w.server(), codemode.Session{}); !errors.As(err, &failed) || !strings.Contains(failed.Text, "none that were not granted") {
		t.Errorf("a server that wants what it has: %v", err)
	}
}

func scopeOf(t *testing.T, link string) string {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("scope")
}

// TestLogin has a browser return to loopback. What else arrives at that port changes
// nothing.
func TestLogin(t *testing.T) {
	t.Parallel()
	w, dir := newWorld(t), t.TempDir()
	c := inDir(t, dir)
	var required *Required
	if err := call(t, c, w.server(), codemode.Session{}); !errors.As(err, &required) || required.Link != "" || !strings.Contains(err.Error(), "quoin mcp login tracker") {
		t.Fatalf("without a callback: %v", err)
	}
	var redirects []string
	for range 2 {
		_, err := c.Login(t.Context(), w.server(), Owner{}, Challenge{}, func(link string) error {
			u, err := url.Parse(link)
			if err != nil {
				return err
			}
			redirect := u.Query().Get("redirect_uri")
			redirects = append(redirects, redirect)
			if status, _ := browse(t, redirect+"?state=wrong&code=x"); status != http.StatusBadRequest {
				t.Errorf("a wrong state: %d", status)
			}
			if status, page := browse(t, link); status != http.StatusOK {
				t.Errorf("%d %s", status, page)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := call(t, c, w.server(), codemode.Session{}); err != nil {
		t.Error(err)
	}
	if registered := strings.Count(strings.Join(w.seen, " "), "/register"); redirects[0] != redirects[1] || registered != 1 {
		t.Errorf("two logins came back to %v and registered %d clients", redirects, registered)
	}
	planted(t, dir)
}

// TestClientsInTheOrderOfTheSpecification: configured, by document, registered, asked for.
func TestClientsInTheOrderOfTheSpecification(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*world, *Server)
		want   string // the client id, or part of the error
	}{
		{"configured", func(w *world, s *Server) {
			s.ClientID, s.ClientMetadataURL = "mine", "https://quoin.example/client.json"
			w.meta["client_id_metadata_document_supported"] = true
		}, "mine"},
		{"document", func(w *world, s *Server) {
			s.ClientMetadataURL = "https://quoin.example/client.json"
			w.meta["client_id_metadata_document_supported"] = true
		}, "https://quoin.example/client.json"},
		{"document not read", func(_ *world, s *Server) { s.ClientMetadataURL = "https://quoin.example/client.json" }, "registered"},
		{"registered", func(*world, *Server) {}, "registered"},
		{"asked for", func(w *world, _ *Server) { delete(w.meta, "registration_endpoint") }, "set mcp.servers.tracker.oauth.clientId"},
		{"configured for another issuer", func(_ *world, s *Server) { s.ClientID, s.Issuer = "mine", "https://other.example" }, "mcp.servers.tracker.oauth.issuer"},
		{"refused", func(w *world, _ *Server) {
			w.register = func(rw http.ResponseWriter, r *http.Request) {
				rw.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(rw, `{"error":"unapproved_client","error_description":"client_name 'Quoin' is not on the approved list."}`)
			}
		}, "unapproved_client: client_name 'Quoin' is not on the approved list. Register"},
		{"secret in a broken answer", func(w *world, _ *Server) {
			w.register = func(rw http.ResponseWriter, r *http.Request) {
				rw.WriteHeader(http.StatusCreated)
				_, _ = io.WriteString(rw, `{"client_secret":"PLANTED"`)
			}
		}, "not a registration"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			s := w.server()
			tt.change(w, s)
			dir := t.TempDir()
			c, _ := open(t, dir)
			err := call(t, c, s, codemode.Session{})
			got := err.Error()
			var required *Required
			if errors.As(err, &required) {
				u, err := url.Parse(required.Link)
				if err != nil {
					t.Fatal(err)
				}
				got = u.Query().Get("client_id")
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("got %s, expected %s", got, tt.want)
			}
			planted(t, dir, got)
		})
	}
}

// TestIssuersThatEndInASlash: the metadata of an authorization server is where RFC 8414,
// section 3.1, has it.
func TestIssuersThatEndInASlash(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/tenant/", "/tenant"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.path = strings.TrimSuffix(path, "/")
			w.about["authorization_servers"], w.meta["issuer"] = []string{w.issuer.URL + path}, w.issuer.URL+path
			c, _ := open(t, t.TempDir())
			if link := ask(t, c, w.server(), codemode.Session{}); !strings.HasPrefix(link, w.issuer.URL+"/authorize?") {
				t.Errorf("the link is %s; asked for %q", link, w.seen)
			}
		})
	}
}

// TestAServerThatMoves: its new authorization server gets neither client nor token of the
// old one.
func TestAServerThatMoves(t *testing.T) {
	t.Parallel()
	w, next := newWorld(t), newWorld(t)
	c, _ := open(t, t.TempDir())
	browse(t, ask(t, c, w.server(), codemode.Session{}))
	own := w.server()
	own.ClientID = "mine"
	browse(t, ask(t, c, own, codemode.Session{})) // binds the configured client
	next.about["resource"] = w.resource.URL + "/mcp"
	next.register = func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(rw, `{"client_id":"fresh"}`)
	}
	w.set(func() {
		clear(w.good)
		clear(w.refresh)
		w.about["authorization_servers"] = []string{next.issuer.URL}
	})
	link := ask(t, c, w.server(), codemode.Session{})
	if !strings.HasPrefix(link, next.issuer.URL) || !strings.Contains(link, "client_id=fresh") {
		t.Errorf("the link is %s", link)
	}
	var failed *Error
	if err := call(t, c, own, codemode.Session{}); !errors.As(err, &failed) || !strings.Contains(failed.Text, "oauth.issuer") {
		t.Errorf("a configured client: %v", err)
	}
}
