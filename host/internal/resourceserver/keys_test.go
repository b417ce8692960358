package resourceserver

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestKeysRotate: a token of a new key causes a fetch, and a key that the issuer has
// taken back counts no more.
func TestKeysRotate(t *testing.T) {
	p := newProvider(t)
	s := start(t, p.settings(), time.Now, time.Nanosecond)
	old := p.token(nil)
	if w := ask(t, s, old); w.Code != 200 {
		t.Fatalf("before: %d %s", w.Code, w.Body)
	}
	second := newKey(t)
	p.set(func() { delete(p.keys, "first"); p.keys["second"] = second })
	if w := ask(t, s, p.sign("second", second, p.claims(nil), nil)); w.Code != 200 {
		t.Errorf("the new key: %d %s", w.Code, w.Body)
	}
	if w := ask(t, s, old); w.Code != 401 {
		t.Errorf("the old key: %d %s", w.Code, w.Body)
	}
}

// TestUnknownKeysCauseFewFetches: tokens of invented keys cannot make this server
// flood the identity provider.
func TestUnknownKeysCauseFewFetches(t *testing.T) {
	p := newProvider(t)
	s := start(t, p.settings(), time.Now, time.Hour)
	invented := newKey(t)
	for range 50 {
		if w := ask(t, s, p.sign("invented", invented, p.claims(nil), nil)); w.Code != 401 {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
	}
	if w := ask(t, s, p.token(nil)); w.Code != 200 {
		t.Errorf("a good token meanwhile: %d %s", w.Code, w.Body)
	}
	if p.fetches > 2 {
		t.Errorf("50 tokens caused %d fetches", p.fetches)
	}
}

// TestProviderDown: without keys a request gets 503, whatever it shows; what is known still
// counts for a day.
func TestProviderDown(t *testing.T) {
	p := newProvider(t)
	p.down = true
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	s := start(t, p.settings(), clock, time.Nanosecond)
	token := p.token(nil)
	w := ask(t, s, token)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("down from the start: %d %v", w.Code, w.Header())
	}
	p.set(func() { p.down = false })
	if w := ask(t, s, token); w.Code != 200 {
		t.Fatalf("up: %d %s", w.Code, w.Body)
	}
	p.set(func() { p.down = true })
	if w := ask(t, s, token); w.Code != 200 {
		t.Errorf("down, with a known key: %d %s", w.Code, w.Body)
	}
	second := newKey(t)
	if w := ask(t, s, p.sign("second", second, p.claims(nil), nil)); w.Code != 503 {
		t.Errorf("down, with a key that may be new: %d %s", w.Code, w.Body)
	}
	ahead.Store(int64(maxKeyAge + time.Minute))
	late := p.claims(nil)
	late["exp"] = clock().Add(time.Hour).Unix()
	if w := ask(t, s, p.sign("first", p.keys["first"], late, nil)); w.Code != 503 {
		t.Errorf("down for a day: %d %s", w.Code, w.Body)
	}
}

// TestMetadataOfTheIssuer: its keys are where its own metadata says, over https.
func TestMetadataOfTheIssuer(t *testing.T) {
	p := newProvider(t)
	p.issuer = "https://evil.example"
	s := start(t, p.settings(), time.Now, time.Nanosecond)
	if w := ask(t, s, p.token(nil)); w.Code != 503 {
		t.Errorf("metadata of another issuer: %d %s", w.Code, w.Body)
	}
	c := p.settings()
	c.JWKSURL = p.server.URL + "/keys"
	if w := ask(t, start(t, c, time.Now, time.Nanosecond), p.token(nil)); w.Code != 200 {
		t.Errorf("a given address: %d %s", w.Code, w.Body)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, p.server.URL+"/keys", http.StatusFound)
		},
		"a long body": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[],"x":"` + strings.Repeat("a", maxDocument) + `"}`))
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
	} {
		hostile := httptest.NewServer(answer)
		t.Cleanup(hostile.Close)
		c.JWKSURL = hostile.URL
		if w := ask(t, start(t, c, time.Now, time.Nanosecond), p.token(nil)); w.Code != 503 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestMetadata: clients learn where to get a token.
func TestMetadata(t *testing.T) {
	p := newProvider(t)
	docs := start(t, p.settings(), time.Now, time.Nanosecond).Metadata("/mcp")
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		w := httptest.NewRecorder()
		docs[path].ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		var got struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Resource != audience || len(got.Servers) != 1 || got.Servers[0] != p.server.URL || len(got.Scopes) != 1 {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := Config{Issuer: "https://login.example", Audience: audience}
	if err := Check(good); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(c *Config){
		"issuer":   func(c *Config) { c.Issuer = "http://login.example" },
		"audience": func(c *Config) { c.Audience = "" },
		"resource": func(c *Config) { c.Audience = "api://quoin" },
		"jwksUrl":  func(c *Config) { c.JWKSURL = "http://login.example/keys" },
		"scopes":   func(c *Config) { c.Scopes = []string{`a"b`} },
	} {
		c := good
		change(&c)
		var wrong *ConfigError
		if err := Check(c); !errors.As(err, &wrong) || wrong.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// FuzzToken: no text gets in but tokens of the issuer, and none ends the process.
func FuzzToken(f *testing.F) {
	p := newProvider(f)
	good := p.token(nil)
	s := start(f, p.settings(), time.Now, time.Hour)
	if w := ask(f, s, good); w.Code != 200 {
		f.Fatalf("%d %s", w.Code, w.Body)
	}
	f.Add(good)
	f.Add(strings.ToUpper(good))
	f.Add("eyJhbGciOiJub25lIn0.e30.")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
		r.Header["Authorization"] = []string{"Bearer " + token}
		if w := send(t, s, r); w.Code == 200 && strings.TrimSpace(token) != good {
			t.Errorf("let in with %q", token)
		}
	})
}
