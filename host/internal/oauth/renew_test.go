package oauth

import (
	"context"
	"net/url"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/documents"
)

// leavingStore has the caller leave when a document is written.
type leavingStore struct {
	documents.Store
	leave func()
}

func (s leavingStore) Replace(ctx context.Context, name string, content []byte, expires time.Time) error {
	s.leave()
	if err := ctx.Err(); err != nil {
		return err // as a database does
	}
	return s.Store.Replace(ctx, name, content, expires)
}

// expired signs in with a token that has ended.
func expired(t *testing.T, w *world) *Client {
	t.Helper()
	w.life = time.Second // always about to end
	c, _ := open(t, t.TempDir())
	browse(t, ask(t, c, w.server(), codemode.Session{}))
	w.set(func() { w.life = time.Hour })
	return c
}

// TestACallerThatLeavesKeepsTheGrant: the authorization server has taken the old refresh
// token, so that the new one is stored also where no one waits for it.
func TestACallerThatLeavesKeepsTheGrant(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		arrange func(w *world, c *Client, leave func())
	}{
		{"while the server answers", func(w *world, _ *Client, leave func()) { w.onToken = leave }},
		{"before the answer is stored", func(_ *world, c *Client, leave func()) { c.store.docs = leavingStore{c.store.docs, leave} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.rotate = true
			c := expired(t, w)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			tt.arrange(w, c, leave)
			if _, err := c.token(ctx, w.server(), Owner{}, ""); ctx.Err() == nil {
				t.Fatalf("the caller has not left: %v", err)
			}
			w.set(func() { w.onToken = nil })
			if err := call(t, c, w.server(), codemode.Session{}); err != nil {
				t.Errorf("the next call: %v", err)
			}
			if n := w.count(&w.issued); n != 2 {
				t.Errorf("%d tokens were given, expected the first and its successor", n)
			}
		})
	}
}

// TestARefreshTokenGoesOn where a renewal brings no other one, as most servers answer.
func TestARefreshTokenGoesOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ brought, want string }{{"", "first"}, {"second", "second"}} {
		g := &grant{Refresh: "first"}
		if err := g.take(&oauth2.Token{TokenType: "Bearer", AccessToken: "access", RefreshToken: tt.brought}); err != nil || g.Refresh != tt.want {
			t.Errorf("after %q the refresh token is %q, %v; want %q", tt.brought, g.Refresh, err, tt.want)
		}
	}
}

// TestATokenThatWasRefusedIsNotReturned, also where a renewal brings it again.
func TestATokenThatWasRefusedIsNotReturned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := expired(t, w)
	refused := "PLANTED-access-2" // which the renewal brings
	if got, err := c.token(t.Context(), w.server(), Owner{}, refused); got != "" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestALinkLeadsBackToItsCaller: a stored flow of another address does not count.
func TestALinkLeadsBackToItsCaller(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := inDir(t, t.TempDir())
	seen := map[string]bool{}
	for _, back := range []string{"http://127.0.0.1:1/oauth/callback", "http://127.0.0.1:2/oauth/callback"} {
		link, err := c.pending(t.Context(), w.server(), Owner{}, Challenge{}, back)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(link)
		if err != nil || u.Query().Get("redirect_uri") != back || seen[link] {
			t.Errorf("for %s the link is %s, %v", back, link, err)
		}
		seen[link] = true
	}
}
