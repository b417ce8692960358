package resourceserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/quoinhq/quoin/host/codemode"
)

// wellKnown is where the metadata of a resource without a path is.
const wellKnown = "/.well-known/oauth-protected-resource"

// Server lets callers in by their access tokens. Make one with New.
type Server struct {
	config   Config
	tokens   *tokens
	metadata string // its address
	path     string // of the resource
}

// New returns a server. It fails with a *ConfigError, and does not wait for the
// identity provider. What it starts ends with ctx.
func New(ctx context.Context, c Config) (*Server, error) {
	return newServer(ctx, c, nil, time.Now, retryEvery)
}

func newServer(ctx context.Context, c Config, base http.RoundTripper, clock func() time.Time, retry time.Duration) (*Server, error) {
	c, err := c.filled()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(c.Resource)
	if err != nil {
		return nil, err // filled has parsed it
	}
	path := strings.TrimSuffix(u.Path, "/")
	u.Path = wellKnown + path
	return &Server{
		config: c, tokens: newTokens(c, newKeySource(ctx, c, base, clock, retry)),
		metadata: u.String(), path: path,
	}, nil
}

// Authenticate returns the session that the request's token names. It answers a
// request without a token that counts, and returns false.
func (s *Server) Authenticate(w http.ResponseWriter, r *http.Request) (codemode.Session, bool) {
	token, err := bearer(r)
	if err != nil {
		s.challenge(w, http.StatusUnauthorized, "invalid_request", err.Error())
		return codemode.Session{}, false
	}
	if token == "" {
		s.challenge(w, http.StatusUnauthorized, "", "a token of "+s.config.Issuer+" is needed")
		return codemode.Session{}, false
	}
	session, err := s.tokens.caller(r.Context(), token)
	switch {
	case err == nil:
		return session, true
	case errors.Is(err, errUnavailable):
		w.Header().Set("Retry-After", "10")
		http.Error(w, errUnavailable.Error(), http.StatusServiceUnavailable)
	case errors.Is(err, errScope):
		s.challenge(w, http.StatusForbidden, "insufficient_scope", err.Error())
	default:
		s.challenge(w, http.StatusUnauthorized, "invalid_token", err.Error())
	}
	return codemode.Session{}, false
}

// bearer returns the request's token, or "" without one. A token in the address is
// never taken.
func bearer(r *http.Request) (string, error) {
	given := r.Header.Values("Authorization")
	if len(given) > 1 {
		return "", errors.New("the header Authorization is given more than once")
	}
	if len(given) == 0 {
		return "", nil
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	return strings.TrimSpace(token), nil
}

// challenge refuses a request and says what would be let in. Without a token there is
// no error code, as RFC 6750 has it.
func (s *Server) challenge(w http.ResponseWriter, status int, code, words string) {
	params := []string{}
	if code != "" {
		params = append(params, fmt.Sprintf("error=%q", code), fmt.Sprintf("error_description=%q", words))
	}
	if len(s.config.Scopes) > 0 {
		params = append(params, fmt.Sprintf("scope=%q", strings.Join(s.config.Scopes, " ")))
	}
	params = append(params, fmt.Sprintf("resource_metadata=%q", s.metadata))
	w.Header().Set("WWW-Authenticate", "Bearer "+strings.Join(params, ", "))
	http.Error(w, words, status)
}

// Metadata returns the handlers of the metadata document by their paths: where
// RFC 9728 puts it for the resource, for the path at which the resource is mounted,
// and where clients look that know the host alone.
func (s *Server) Metadata(mount string) map[string]http.Handler {
	doc := auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: s.config.Resource, AuthorizationServers: []string{s.config.Issuer},
		ScopesSupported: s.config.Scopes, BearerMethodsSupported: []string{"header"}, ResourceName: "Quoin",
	})
	return map[string]http.Handler{wellKnown: doc, wellKnown + s.path: doc, wellKnown + mount: doc}
}
