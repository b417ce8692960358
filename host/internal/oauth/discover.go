package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// discovered is what the metadata of a server and of its authorization server say.
type discovered struct {
	resource string   // as the server calls itself
	scopes   []string // that it names
	issuer   *oauthex.AuthServerMeta
	guessed  bool // the server has no metadata at all
}

// errNoOAuth means that a server answers 401 and says nothing of OAuth.
var errNoOAuth = errors.New("it names no authorization server: configure a header, or ask who runs it")

// discover finds out where to sign in. prefer is the issuer to take where several are
// offered.
func discover(ctx context.Context, h *http.Client, s *Server, c Challenge, prefer string) (*discovered, error) {
	meta, err := resourceMetadata(ctx, h, s.URL, c.Metadata)
	if err != nil {
		return nil, err
	}
	if meta == nil {
		return discoverAtRoot(ctx, h, s)
	}
	as, err := firstIssuer(ctx, h, issuersOf(meta, s, prefer))
	if err != nil {
		return nil, err
	}
	return &discovered{resource: meta.Resource, scopes: usableScopes(meta.ScopesSupported), issuer: as}, nil
}

// maxIssuers is how many authorization servers of one server are tried.
const maxIssuers = 3

// issuersOf returns the authorization servers to try, in order. The configured one is alone:
// the configured client is registered with it.
func issuersOf(meta *oauthex.ProtectedResourceMetadata, s *Server, prefer string) []string {
	all := meta.AuthorizationServers
	if s.Issuer != "" && slices.Contains(all, s.Issuer) {
		return []string{s.Issuer}
	}
	if prefer != "" && slices.Contains(all, prefer) {
		all = slices.Insert(slices.DeleteFunc(slices.Clone(all), func(issuer string) bool { return issuer == prefer }), 0, prefer)
	}
	return all[:min(maxIssuers, len(all))]
}

// firstIssuer returns the metadata of the first authorization server that has usable metadata. The
// error is about the first of them.
func firstIssuer(ctx context.Context, h *http.Client, issuers []string) (as *oauthex.AuthServerMeta, first error) {
	for _, issuer := range issuers {
		var err error
		if len(issuer) > maxURL {
			err = errors.New("its metadata names an authorization server with an address that is too long")
		} else if as, err = issuerMetadata(ctx, h, issuer); err == nil && as == nil {
			err = errors.New("its authorization server has no metadata")
		}
		if err == nil {
			return as, nil
		}
		first = cmp.Or(first, err)
	}
	return nil, first
}

// discoverAtRoot is for servers of the first revisions, which are their own authorization
// server and may have no metadata at all.
func discoverAtRoot(ctx context.Context, h *http.Client, s *Server) (*discovered, error) {
	root, err := url.Parse(s.URL)
	if err != nil {
		return nil, err
	}
	issuer := (&url.URL{Scheme: root.Scheme, Host: root.Host}).String()
	as, err := issuerMetadata(ctx, h, issuer)
	if err != nil {
		return nil, err
	}
	found := &discovered{resource: canonical(s.URL), issuer: as}
	if as == nil {
		found.guessed = true
		found.issuer = &oauthex.AuthServerMeta{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register"}
	}
	return found, nil
}

// resourceMetadata returns the metadata of a server, or nil if it has not published any.
func resourceMetadata(ctx context.Context, h *http.Client, server, named string) (*oauthex.ProtectedResourceMetadata, error) {
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	const wellKnown = "/.well-known/oauth-protected-resource"
	root := url.URL{Scheme: u.Scheme, Host: u.Host}
	addresses := []string{root.JoinPath(wellKnown, u.Path).String(), root.JoinPath(wellKnown).String()}
	if named != "" {
		addresses = slices.Insert(addresses, 0, named)
	}
	for _, address := range slices.Compact(addresses) {
		meta, err := fetchResource(ctx, h, address)
		if err != nil {
			return nil, fmt.Errorf("its metadata cannot be read: %w", err)
		}
		if meta == nil {
			continue
		}
		if !isAbout(meta.Resource, server) {
			return nil, errors.New("its metadata is about another resource than the configured address: it may want a token that is good elsewhere")
		}
		if len(meta.AuthorizationServers) == 0 {
			return nil, errNoOAuth
		}
		return meta, nil
	}
	return nil, nil
}

// fetchResource gets metadata, or nil if the address has none.
func fetchResource(ctx context.Context, h *http.Client, address string) (_ *oauthex.ProtectedResourceMetadata, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errAddress
	}
	req.Header.Set("Accept", "application/json")
	resp, err := h.Do(req)
	if err != nil {
		return nil, short(err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode/100 == 4 {
		return nil, nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || kind != "application/json" {
		return nil, fmt.Errorf("the answer has status %d and is not JSON", resp.StatusCode)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, short(err)
	}
	return decodeResource(text)
}

// decodeResource reads the metadata of a resource.
func decodeResource(text []byte) (*oauthex.ProtectedResourceMetadata, error) {
	meta := new(oauthex.ProtectedResourceMetadata)
	if json.Unmarshal(text, meta) != nil {
		return nil, errors.New("the answer is not the metadata of a resource")
	}
	return meta, nil
}

// isAbout reports whether a resource is the server, or a path of its origin above it.
func isAbout(resource, server string) bool {
	r, err := url.Parse(resource)
	s, err2 := url.Parse(server)
	if err != nil || err2 != nil || r.Fragment != "" || r.User != nil || r.RawQuery != "" && r.RawQuery != s.RawQuery ||
		!strings.EqualFold(r.Scheme, s.Scheme) || hostPort(r) != hostPort(s) {
		return false
	}
	above := strings.TrimSuffix(r.EscapedPath(), "/")
	return above == strings.TrimSuffix(s.EscapedPath(), "/") || strings.HasPrefix(s.EscapedPath(), above+"/")
}

// canonical is the address of a server as a resource is called.
func canonical(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	u.Scheme, u.Host, u.Fragment = strings.ToLower(u.Scheme), strings.ToLower(u.Host), ""
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

// issuerMetadata returns the metadata of an authorization server, or nil if it has
// not published any. Its issuer is the one that was asked for, and it can do PKCE by S256.
func issuerMetadata(ctx context.Context, h *http.Client, issuer string) (*oauthex.AuthServerMeta, error) {
	// The well-known part goes between the host and the path, which loses its last slash
	// first: RFC 8414, section 3.1.
	as, err := auth.GetAuthServerMetadata(ctx, strings.TrimRight(issuer, "/"), h)
	if err != nil {
		return nil, fmt.Errorf("the metadata of its authorization server cannot be used: %w", short(err))
	}
	if as == nil {
		return nil, nil
	}
	if !slices.Contains(as.CodeChallengeMethodsSupported, "S256") {
		return nil, errors.New("its authorization server cannot do PKCE with S256, without which codes can be stolen")
	}
	for what, address := range map[string]string{"authorization": as.AuthorizationEndpoint, "token": as.TokenEndpoint} {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || len(address) > maxURL {
			return nil, fmt.Errorf("its authorization server has no usable %s endpoint", what)
		}
	}
	return as, nil
}
