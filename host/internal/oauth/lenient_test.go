package oauth

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/quoinhq/quoin/host/codemode"
)

// TestReadableAnswers: what servers add to a good answer does not fail a sign-in.
func TestReadableAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status          int
		post            bool
		kind, body      string
		wantKind, wants string
	}{
		{200, false, "application/json", "\ufeff{}", "application/json", `{}`},
		{200, false, "text/plain", `{}`, "text/plain", `{}`},
		{200, true, "text/plain; charset=utf-8", `{"access_token":"a"}`, "application/json", `{"access_token":"a"}`},
		{200, true, "text/plain", `access_token=a`, "text/plain", `access_token=a`},
		{200, true, "text/plain", `null`, "text/plain", `null`},
		{201, true, "application/json", "\ufeff" + `{"expires_in":3599.7}`, "application/json", `{"expires_in":3599}`},
		{200, true, "application/json", `{"a":1,"expires_in":"3599.7"}`, "application/json", `{"a":1,"expires_in":3599}`},
		{200, true, "application/json", `{"expires_in":1e30}`, "application/json", `{"expires_in":2147483647}`},
		{200, true, "application/json", `{"a":1,"expires_in":"never"}`, "application/json", `{"a":1}`},
		{200, true, "application/json", `{"expires_in":[1]}`, "application/json", `{}`},
		{200, true, "application/json", `{ "expires_in":"60" }`, "application/json", `{ "expires_in":"60" }`},
		{200, true, "application/json", `{ "expires_in":null }`, "application/json", `{ "expires_in":null }`},
		{400, true, "text/plain", "\ufeff{}", "text/plain", "\ufeff{}"},
	} {
		resp := &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(strings.NewReader(c.body))}
		if err := readable(resp, c.post); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != c.wants || resp.Header.Get("Content-Type") != c.wantKind {
			t.Errorf("%+v: %s as %s, %v", c, got, resp.Header.Get("Content-Type"), err)
		}
	}
	broken := &http.Response{StatusCode: 200, Body: io.NopCloser(iotest.ErrReader(errTooLarge))}
	if err := readable(broken, true); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
}

// TestTheNextAuthorizationServer is tried where the first has no metadata, unless one is configured.
func TestTheNextAuthorizationServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gone := w.resource.URL + "/gone"
	w.set(func() { w.about["authorization_servers"] = []string{gone, w.issuer.URL} })
	client, _ := open(t, t.TempDir())
	browse(t, ask(t, client, w.server(), codemode.Session{}))
	if err := call(t, client, w.server(), codemode.Session{}); err != nil {
		t.Error(err)
	}
	configured := w.server()
	configured.Name, configured.Issuer = "configured", gone
	var failed *Error
	if err := call(t, client, configured, codemode.Session{}); !errors.As(err, &failed) {
		t.Errorf("another issuer than the configured one was asked: %v", err)
	}
}
