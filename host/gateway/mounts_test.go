package gateway_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/gateway"
)

// TestMountAuthentication: a mount with an authenticator wants it or the token, and
// is for the session that the authenticator names.
func TestMountAuthentication(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	alice := gateway.Session{SessionKey: "alice"}
	seen := make(chan gateway.Session, 1)
	o := gateway.Options{
		Mounts: map[string]gateway.Mount{"/mcp": func(w http.ResponseWriter, _ *http.Request, s gateway.Session) {
			seen <- s
			w.WriteHeader(http.StatusNoContent)
		}},
		Auth: map[string]gateway.Authenticator{"/mcp": func(w http.ResponseWriter, r *http.Request) (gateway.Session, bool) {
			if r.Header.Get("Authorization") == "Bearer of-alice" {
				return alice, true
			}
			w.WriteHeader(http.StatusUnauthorized)
			return gateway.Session{}, false
		}},
	}
	for _, token := range []string{"", secret} {
		o.Token = token
		c := serve(t, h, o, nil)
		for shown, want := range map[string]int{"of-alice": 204, "of-eve": 401, "": 401, secret: 401} {
			session := alice
			if shown == secret && token != "" {
				want, session = 204, me
			}
			c.token = shown
			if got := c.status(t, http.MethodPost, "/mcp", nil); got != want {
				t.Errorf("token %q: %q got %d, expected %d", token, shown, got, want)
			}
			if want == 204 {
				if got := <-seen; got != session {
					t.Errorf("token %q: %q is %v", token, shown, got)
				}
			}
		}
		c.token = "of-alice"
		if got := c.status(t, http.MethodPost, "/mcp", map[string]string{"Origin": "https://evil.example"}); got != 403 {
			t.Errorf("a page of another origin got %d", got)
		}
		if token != "" {
			c.get("/v1/runs").problem(401, gateway.ProblemUnauthorized)
		}
	}
	o.Auth["/other"] = o.Auth["/mcp"]
	if _, err := gateway.New(h, o); err == nil {
		t.Error("an authenticator without a mount was taken")
	}
}

// TestPublicPaths are reached without a token, from pages of any origin, and by no
// other name of the server, with no method that changes anything.
func TestPublicPaths(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	o := gateway.Options{Token: secret, Public: map[string]http.Handler{
		"/oauth/callback": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }),
	}}
	c := serve(t, h, o, nil)
	c.token = ""
	page := map[string]string{"Origin": "https://idp.example", "Sec-Fetch-Site": "cross-site"}
	for _, test := range []struct {
		method, path string
		header       map[string]string
		want         int
	}{
		{"GET", "/oauth/callback", page, 204},
		{"OPTIONS", "/oauth/callback", page, 204},
		{"GET", "/oauth/callback?code=1", nil, 204},
		{"POST", "/oauth/callback", nil, 401},
		{"POST", "/oauth/callback", page, 403},
		{"GET", "/oauth/callback/more", nil, 401},
		{"GET", "/oauth/callback", map[string]string{"Host": "evil.example"}, 403},
	} {
		if got := c.status(t, test.method, test.path, test.header); got != test.want {
			t.Errorf("%s %s %v got %d, expected %d", test.method, test.path, test.header, got, test.want)
		}
	}
	for _, path := range []string{"", "x", "/v1/x", "/v1"} {
		if _, err := gateway.New(h, gateway.Options{Public: map[string]http.Handler{path: http.NotFoundHandler()}}); err == nil {
			t.Errorf("the public path %q was taken", path)
		}
	}
	if _, err := gateway.New(h, gateway.Options{Public: map[string]http.Handler{"/x": nil}}); err == nil {
		t.Error("a public path without a handler was taken")
	}
}

// status sends a request with further headers and returns the status of its answer.
func (c *caller) status(t *testing.T, method, path string, header map[string]string) int {
	t.Helper()
	r := c.request(context.Background(), method, path, "")
	for name, value := range header {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	resp, err := c.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}
