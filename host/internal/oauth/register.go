package oauth

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/quoinhq/quoin/internal/text"
)

// client is how an authorization server knows us. It is for its issuer alone.
type client struct {
	ID, Secret string
	Method     string // of authentication at the token endpoint
	Issuer     string
	Redirect   string
	Expires    time.Time // of the secret; zero if it does not
}

// The methods of authentication that we can do.
const (
	methodNone  = "none"
	methodBasic = "client_secret_basic"
	methodPost  = "client_secret_post"
)

// style is what the oauth2 package calls the method.
func (c *client) style() oauth2.AuthStyle {
	if c.Method == methodBasic {
		return oauth2.AuthStyleInHeader
	}
	return oauth2.AuthStyleInParams
}

// clientFor returns the client to sign in with, in the order of the specification:
// registered before, by a metadata document, registered now.
func (c *Client) clientFor(ctx context.Context, h *http.Client, s *Server, as *oauthex.AuthServerMeta, redirect string) (client, error) {
	switch {
	case s.ClientID != "":
		return c.configuredClient(ctx, s, as, redirect)
	case s.ClientMetadataURL != "" && as.ClientIDMetadataDocumentSupported:
		return client{ID: s.ClientMetadataURL, Method: methodNone, Issuer: as.Issuer, Redirect: redirect}, nil
	case as.RegistrationEndpoint != "":
		return c.registeredClient(ctx, h, s, as, redirect)
	}
	return client{}, s.errorf("its authorization server registers no clients by itself: register one there with the redirect address %s, and set mcp.servers.%s.oauth.clientId", redirect, s.Name)
}

// configuredClient returns the client that the operator has registered. Its secret is for
// one issuer: the configured one, or else the first that was seen.
func (c *Client) configuredClient(ctx context.Context, s *Server, as *oauthex.AuthServerMeta, redirect string) (client, error) {
	bound := struct{ Issuer string }{s.Issuer}
	if bound.Issuer == "" {
		name := hashed("configured", s.Name, s.URL, s.ClientID) + clientExt
		err := c.store.read(ctx, name, &bound)
		if errors.Is(err, fs.ErrNotExist) {
			bound.Issuer = as.Issuer
			err = c.store.write(ctx, name, bound)
		}
		if err != nil {
			return client{}, err
		}
	}
	if bound.Issuer != as.Issuer {
		return client{}, s.errorf("its client id is for the authorization server %.200s, and the server now names another: if that is right, set mcp.servers.%s.oauth.issuer and a client of that one", bound.Issuer, s.Name)
	}
	out := client{ID: s.ClientID, Method: methodNone, Issuer: as.Issuer, Redirect: redirect}
	if s.ClientSecret == nil {
		return out, nil
	}
	secret, err := s.ClientSecret()
	if err != nil {
		return client{}, s.errorf("its client secret cannot be had: %v", err)
	}
	out.Secret, out.Method = secret, secretMethod(as.TokenEndpointAuthMethodsSupported)
	return out, nil
}

// secretMethod is how a secret is shown. RFC 8414 says what an absent list means.
func secretMethod(supported []string) string {
	if !slices.Contains(supported, methodBasic) && slices.Contains(supported, methodPost) {
		return methodPost
	}
	return methodBasic
}

// registeredClient returns the client that was registered with an issuer for a redirect
// address, and registers the first.
func (c *Client) registeredClient(ctx context.Context, h *http.Client, s *Server, as *oauthex.AuthServerMeta, redirect string) (client, error) {
	name := hashed("registered", as.Issuer, as.RegistrationEndpoint, redirect)
	ctx, unlock, err := c.store.lock(ctx, name)
	if err != nil {
		return client{}, err
	}
	defer unlock()
	var known client
	err = c.store.read(ctx, name+clientExt, &known)
	if err == nil && known.Issuer == as.Issuer && (known.Expires.IsZero() || time.Now().Before(known.Expires)) {
		return known, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return client{}, err
	}
	fresh, err := register(ctx, h, s, as, redirect)
	if err != nil {
		return client{}, err
	}
	return fresh, c.store.write(ctx, name+clientExt, fresh)
}

// register registers a client. A server that wants a secret gives one.
func register(ctx context.Context, h *http.Client, s *Server, as *oauthex.AuthServerMeta, redirect string) (client, error) {
	method := methodNone
	if supported := as.TokenEndpointAuthMethodsSupported; len(supported) > 0 && !slices.Contains(supported, methodNone) {
		method = secretMethod(supported)
	}
	got, err := oauthex.RegisterClient(ctx, as.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
		ClientName: "Quoin", RedirectURIs: []string{redirect}, TokenEndpointAuthMethod: method,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		ApplicationType: applicationType(redirect),
	}, h)
	if err != nil {
		return client{}, s.errorf("its authorization server did not register a client for the redirect address %s: %v. Register one there, and set mcp.servers.%s.oauth.clientId", redirect, refusal(err), s.Name)
	}
	out := client{ID: got.ClientID, Secret: got.ClientSecret, Method: got.TokenEndpointAuthMethod, Issuer: as.Issuer, Redirect: redirect}
	if got.ClientSecret != "" && !got.ClientSecretExpiresAt.IsZero() {
		out.Expires = got.ClientSecretExpiresAt
	}
	switch {
	case out.Secret == "":
		out.Method = methodNone
	case out.Method != methodBasic && out.Method != methodPost:
		out.Method = secretMethod(as.TokenEndpointAuthMethodsSupported)
	}
	if len(out.ID) > maxURL || len(out.Secret) > maxURL {
		return client{}, s.errorf("its authorization server gave a client id or secret that is too long")
	}
	return out, nil
}

// refusal is what may be said of a registration that failed. The SDK's error repeats the
// answer, which may have a secret in it.
func refusal(err error) error {
	var refused *oauthex.ClientRegistrationError
	var failed *url.Error
	switch {
	case errors.As(err, &refused):
		why := text.Cut(text.Printable(strings.TrimSuffix(strings.TrimSpace(refused.ErrorDescription), ".")), 200)
		if why != "" {
			why = ": " + why
		}
		return errors.New("it was refused with " + codeOf(refused.ErrorCode) + why)
	case errors.As(err, &failed):
		return short(err)
	}
	return errors.New("the answer is not a registration")
}

// applicationType is what OpenID Connect calls a client with that redirect address.
func applicationType(redirect string) string {
	if u, err := url.Parse(redirect); err == nil && isLoopback(u.Hostname()) {
		return "native"
	}
	return "web"
}
