package resourceserver

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const audience = "https://quoin.example.com/mcp"

// provider is an identity provider.
type provider struct {
	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex
	keys    map[string]crypto.Signer // by kid
	extra   []any                    // further keys of the set, as they are
	down    bool
	fetches int
	issuer  string // of the metadata, where it lies
}

func newProvider(t testing.TB) *provider {
	p := &provider{t: t, keys: map[string]crypto.Signer{"first": newKey(t)}}
	p.server = httptest.NewServer(p)
	t.Cleanup(p.server.Close)
	return p
}

func newKey(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// set changes the provider.
func (p *provider) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// ServeHTTP serves metadata and keys.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	issuer := p.server.URL
	if p.issuer != "" {
		issuer = p.issuer
	}
	var doc any
	switch {
	case p.down:
		http.Error(w, "down", http.StatusBadGateway)
		return
	case r.URL.Path == "/.well-known/openid-configuration":
		doc = map[string]any{"issuer": issuer, "jwks_uri": p.server.URL + "/keys"}
	case r.URL.Path == "/keys":
		p.fetches++
		doc = p.keySet()
	default:
		http.NotFound(w, r)
		return
	}
	if err := json.NewEncoder(w).Encode(doc); err != nil {
		p.t.Errorf("answer: %v", err)
	}
}

func (p *provider) keySet() any {
	set := append([]any{}, p.extra...)
	for kid, key := range p.keys {
		jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: kid, ALG: jwkset.AlgES256, USE: jwkset.UseSig}})
		if err != nil {
			p.t.Errorf("key: %v", err)
			continue
		}
		set = append(set, jwk.Marshal())
	}
	return map[string]any{"keys": set}
}

// claims returns the claims of a good token, with changes; a nil value removes a claim.
func (p *provider) claims(changes jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": p.server.URL, "aud": audience, "sub": "alice", "client_id": "claude", "scope": "openid mcp:use",
		"exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
	}
	for name, v := range changes {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
}

// token signs claims with the first key.
func (p *provider) token(changes jwt.MapClaims) string {
	p.t.Helper()
	return p.sign("first", p.keys["first"], p.claims(changes), nil)
}

// sign signs claims with a key, under a kid, with further members of the header.
func (p *provider) sign(kid string, key any, claims jwt.MapClaims, header map[string]any) string {
	p.t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	token.Header["kid"] = kid
	for name, v := range header {
		if token.Header[name] = v; v == nil {
			delete(token.Header, name)
		}
	}
	signed, err := token.SignedString(key)
	if err != nil {
		p.t.Fatal(err)
	}
	return signed
}

// settings returns the settings of a server that takes the provider's tokens.
func (p *provider) settings() Config {
	return Config{
		Issuer: p.server.URL, Audience: audience, Scopes: []string{"mcp:use"},
		Claims: Claims{AgentID: "client_id", SessionKey: "sub"}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
}

// start returns a server with a clock of its own and with fetches that nothing delays.
func start(t testing.TB, c Config, clock func() time.Time, retry time.Duration) *Server {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	transport := &http.Transport{}
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
	})
	s, err := newServer(ctx, c, transport, clock, retry)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends a token to a server.
func ask(t testing.TB, s *Server, token string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/mcp", nil)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return send(t, s, r)
}

func send(t testing.TB, s *Server, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	session, ok := s.Authenticate(w, r)
	if ok {
		w.WriteHeader(http.StatusOK)
		if err := json.NewEncoder(w).Encode(session); err != nil {
			t.Fatal(err)
		}
	}
	return w
}
