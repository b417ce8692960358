package mcp

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/oauth"
)

// Login signs in to a server: it listens on loopback, calls show with the link that a
// browser has to open, and returns once the browser has come back, or ctx ends. It is
// the sign-in of who, if OAuth.Per of the server is SignInPerUser. The zero Session stands for
// the host: its sign-in is used to list the tools of such a server.
func (s *SignIns) Login(ctx context.Context, server Server, who codemode.Session, show func(link string) error) (SignIn, error) {
	target, err := server.signInTarget()
	if err != nil {
		return SignIn{}, err
	}
	ch, err := probeChallenge(ctx, server)
	if err != nil {
		return SignIn{}, err
	}
	g, err := s.client.Login(ctx, target, ownerOf(target, who), ch, show)
	return SignIn(g), err
}

// Logout forgets a sign-in, and revokes its tokens where the authorization server can.
// The error is ErrNoSignIn if there was no sign-in; any other means that the tokens are
// forgotten but may not be revoked.
func (s *SignIns) Logout(ctx context.Context, server Server, who codemode.Session) (SignIn, error) {
	target, err := server.signInTarget()
	if err != nil {
		return SignIn{}, err
	}
	g, err := s.client.Forget(ctx, target, ownerOf(target, who))
	return SignIn(g), err
}

// Find returns the sign-in that the calls of who use. The error is ErrNoSignIn if they
// have to sign in first.
func (s *SignIns) Find(ctx context.Context, server Server, who codemode.Session) (SignIn, error) {
	target, err := server.signInTarget()
	if err != nil {
		return SignIn{}, err
	}
	g, err := s.client.Find(ctx, target, ownerOf(target, who))
	return SignIn(g), err
}

// signsIn reports whether a 401 of the server is a reason to sign in.
func (s *Server) signsIn() bool {
	if s.URL == "" || s.OAuth.Off {
		return false
	}
	if o := s.OAuth; s.OpenAPI != "" && o.ClientID == "" && o.ClientMetadataURL == "" && o.Issuer == "" && len(o.Scopes) == 0 {
		return false // a 401 of any web server says less than one of an MCP server
	}
	for name := range s.Headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return false
		}
	}
	return true
}

// signInTarget is the server as package oauth knows it. The error says why there is
// nothing to sign in to.
func (s *Server) signInTarget() (*oauth.Server, error) {
	if err := Check([]Server{*s}); err != nil {
		return nil, err
	}
	if !s.signsIn() {
		return nil, &ConfigError{s.Name, "oauth", "does not apply: only a server with a url, without oauth.off and without a header Authorization, is signed in to"}
	}
	o := s.OAuth
	target := &oauth.Server{
		Name: s.Name, URL: s.URL, PerUser: o.Per == SignInPerUser, ClientID: o.ClientID, ClientSecret: o.ClientSecret, Issuer: o.Issuer,
		ClientMetadataURL: o.ClientMetadataURL, Scopes: o.Scopes, CallbackPort: o.CallbackPort, PrivateNetwork: o.PrivateNetwork,
	}
	if err := target.Check(); err != nil {
		return nil, &ConfigError{s.Name, "oauth", "cannot be used: " + err.Error()}
	}
	return target, nil
}

// probeChallenge asks the server what it wants of a caller without a token. Any answer
// will do: where it says nothing, the well-known addresses do.
func probeChallenge(ctx context.Context, server Server) (oauth.Challenge, error) {
	server = server.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, server.ConnectTimeout)
	defer cancel()
	headers, err := server.header()
	if err != nil {
		return oauth.Challenge{}, err
	}
	client, g := newClient(ctx, headers, defaultTimes.probeTimeout, func(error) {})
	defer g.base.CloseIdleConnections()
	const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(discover))
	if err != nil {
		return oauth.Challenge{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := client.Do(req)
	if err != nil {
		return oauth.Challenge{}, fmt.Errorf("MCP server %s cannot be reached: %s", server.Name, bounded(err.Error(), maxErrorText))
	}
	return oauth.ChallengeOf(resp), resp.Body.Close()
}
