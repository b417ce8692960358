package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// maxToken bounds a token and a code, in bytes.
const maxToken = 16 << 10

// renewBefore is how long before its end a token is renewed.
const renewBefore = 10 * time.Second

// take makes the tokens of an answer the tokens of the grant.
func (g *grant) take(t *oauth2.Token) error {
	fail := func(text string) error { return &Error{Server: g.Server, Text: text} }
	switch {
	case !strings.EqualFold(t.Type(), "Bearer"):
		return fail("the token is not a bearer token, which is the only kind that is supported")
	case !isToken(t.AccessToken), t.RefreshToken != "" && !isToken(t.RefreshToken):
		return fail("the token is not one that fits into a header")
	}
	g.Access, g.Expires = t.AccessToken, t.Expiry
	if t.RefreshToken != "" { // else the one that was used stays
		g.Refresh = t.RefreshToken
	}
	if list, ok := t.Extra("scope").(string); ok {
		g.Scopes = scopesOf(list)
	} else if g.Scopes == nil {
		g.Scopes = g.Requested
	}
	return nil
}

// isToken reports whether a text can stand in a header.
func isToken(s string) bool {
	for _, b := range []byte(s) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return s != "" && len(s) <= maxToken
}

// ends reports whether a token has ended, or is about to.
func (g *grant) ends() bool {
	return !g.Expires.IsZero() && time.Now().Add(renewBefore).After(g.Expires)
}

// token returns the token of an owner, renewed if it is about to end, or "" if a person
// has to sign in. used is a token that the server has refused; it is not returned.
func (c *Client) token(ctx context.Context, s *Server, o Owner, used string) (string, error) {
	id := s.id(o)
	g, err := c.load(ctx, id)
	if errors.Is(err, ErrNoGrant) {
		return "", nil
	}
	if err != nil {
		return "", s.errorf("its sign-in cannot be read: %v", err)
	}
	if g.Access != used && !g.ends() {
		return g.Access, nil
	}
	return c.renew(ctx, s, id, used)
}

// renew renews a token, unless another caller or process has done so by now: a refresh
// token that is used twice ends the whole grant.
func (c *Client) renew(ctx context.Context, s *Server, id, used string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, authorizeTimeout)
	defer cancel()
	ctx, unlock, err := c.store.lock(ctx, id)
	if err != nil {
		return "", err
	}
	defer unlock()
	g, err := c.load(ctx, id)
	switch {
	case errors.Is(err, ErrNoGrant):
		return "", nil
	case err != nil:
		return "", err
	case g.Access != used && !g.ends():
		return g.Access, nil
	case g.Refresh == "":
		return "", nil
	}
	token, err := g.refresh(context.WithoutCancel(ctx), s)
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && endsGrant(refused) {
		g.Refresh = "" // it has ended; the scopes are remembered for the next sign-in
		return "", c.store.write(ctx, id+grantExt, g)
	}
	if err != nil {
		return "", s.errorf("its token cannot be renewed now: %v", short(err))
	}
	if err := g.take(token); err != nil {
		return "", err
	}
	// From here on the old refresh token may be worth nothing: the new one is stored
	// before anything else, also for a caller that has gone.
	if err := c.store.write(context.WithoutCancel(ctx), id+grantExt, g); err != nil {
		return "", err
	}
	if g.Access == used {
		return "", nil
	}
	return g.Access, nil
}

// endsGrant reports whether a refusal says that a refresh token is worth nothing, and not
// that the server has no time for it now. Some servers refuse with the status 200.
func endsGrant(refused *oauth2.RetrieveError) bool {
	status := 0
	if refused.Response != nil {
		status = refused.Response.StatusCode
	}
	switch {
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return false
	case refused.ErrorCode == "slow_down", refused.ErrorCode == "temporarily_unavailable", refused.ErrorCode == "server_error":
		return false
	}
	return status/100 == 4 || refused.ErrorCode != ""
}

// refresh asks for new tokens. The package clientcredentials is the part of oauth2 that
// lets a grant type and a resource be named.
func (g *grant) refresh(ctx context.Context, s *Server) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	h, done, err := newHTTPClient(s)
	if err != nil {
		return nil, err
	}
	defer done()
	cfg := clientcredentials.Config{
		ClientID: g.Client.ID, ClientSecret: g.Client.Secret, TokenURL: g.TokenURL, AuthStyle: g.Client.style(),
		EndpointParams: url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}, "resource": {g.Resource}},
	}
	return cfg.Token(context.WithValue(ctx, oauth2.HTTPClient, h))
}

// Forget removes the grant and the flow of an owner, and revokes the tokens where the
// authorization server can. It returns ErrNoGrant if there was no grant; with any other
// error the tokens are forgotten, but may still work.
func (c *Client) Forget(ctx context.Context, s *Server, o Owner) (Grant, error) {
	id := s.id(o)
	ctx, unlock, err := c.store.lock(ctx, id)
	if err != nil {
		return Grant{}, err
	}
	defer unlock()
	g, err := c.load(ctx, id)
	if gone := c.store.remove(ctx, id+grantExt, id+flowExt); gone != nil {
		return Grant{}, gone
	}
	if err != nil {
		return Grant{}, err
	}
	return g.public(), g.revoke(ctx, s)
}

// revoke ends the tokens at the authorization server, the refresh token first: that ends
// the others too, at most servers.
func (g *grant) revoke(ctx context.Context, s *Server) error {
	if g.RevokeURL == "" {
		return nil
	}
	h, done, err := newHTTPClient(s)
	if err != nil {
		return err
	}
	defer done()
	for _, t := range []struct{ hint, token string }{{"refresh_token", g.Refresh}, {"access_token", g.Access}} {
		if t.token == "" {
			continue
		}
		if err := g.revokeToken(ctx, h, t.hint, t.token); err != nil {
			return s.errorf("its tokens are forgotten, but were not revoked: %v", short(err))
		}
	}
	return nil
}

func (g *grant) revokeToken(ctx context.Context, h *http.Client, hint, token string) error {
	form := url.Values{"token": {token}, "token_type_hint": {hint}}
	if g.Client.Method != methodBasic {
		form.Set("client_id", g.Client.ID)
	}
	if g.Client.Method == methodPost {
		form.Set("client_secret", g.Client.Secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevokeURL, strings.NewReader(form.Encode()))
	if err != nil {
		return errAddress
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if g.Client.Method == methodBasic {
		req.SetBasicAuth(url.QueryEscape(g.Client.ID), url.QueryEscape(g.Client.Secret))
	}
	resp, err := h.Do(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New("the answer has status " + resp.Status[:min(3, len(resp.Status))])
	}
	return nil
}
