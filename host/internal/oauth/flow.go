package oauth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// flowLife is how long a link works: the call behind it may wait for a person that long.
const flowLife = 24 * time.Hour

// authorizeTimeout bounds all requests of one sign-in together.
const authorizeTimeout = 45 * time.Second

// flow is a sign-in that a browser has not come back from.
type flow struct {
	Grant       grant // what it will be, without tokens
	State       string
	Verifier    string
	Link        string
	IssRequired bool
	Expires     time.Time
	// Private says which addresses the sign-in may use.
	URL            string
	PrivateNetwork bool
}

// start finds out where to sign in, and makes a flow. The browser returns to redirect.
func (c *Client) start(ctx context.Context, s *Server, o Owner, ch Challenge, redirect string) (*flow, error) {
	if err := s.Check(); err != nil {
		return nil, s.errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, authorizeTimeout)
	defer cancel()
	h, done, err := newHTTPClient(s)
	if err != nil {
		return nil, err
	}
	defer done()
	old, err := c.load(ctx, s.id(o))
	if err != nil {
		old = &grant{} // one that cannot be read is replaced
	}
	found, err := discover(ctx, h, s, ch, old.Issuer)
	if err != nil {
		return nil, s.errorf("%v", err)
	}
	as := found.issuer
	client, err := c.clientFor(ctx, h, s, as, redirect)
	if err != nil && found.guessed {
		err = s.errorf("%v", errNoOAuth)
	}
	if err != nil {
		return nil, err
	}
	scopes, err := s.scopesFor(found, ch, old)
	if err != nil {
		return nil, err
	}
	f := &flow{
		Grant: grant{
			Server: s.Name, Owner: o, ListsOnly: s.PerUser && !o.User, Issuer: as.Issuer, Resource: found.resource, TokenURL: as.TokenEndpoint,
			RevokeURL: as.RevocationEndpoint, Client: client, Requested: scopes,
		},
		State: s.id(o) + "." + rand.Text(), Verifier: oauth2.GenerateVerifier(), IssRequired: as.AuthorizationResponseIssParameterSupported,
		Expires: time.Now().Add(flowLife), URL: s.URL, PrivateNetwork: s.PrivateNetwork,
	}
	f.Link = f.Grant.config(as.AuthorizationEndpoint).AuthCodeURL(f.State, oauth2.S256ChallengeOption(f.Verifier), oauth2.SetAuthURLParam("resource", found.resource))
	return f, nil
}

// scopesFor chooses the scopes to ask for.
//
// What was asked for before is asked for again, so that one operation does not take the
// scopes of another away. A server that wants scopes which the token has already would
// send people round in circles.
func (s *Server) scopesFor(found *discovered, ch Challenge, old *grant) ([]string, error) {
	scopes := found.scopes
	if ch.Scopes != nil {
		scopes = ch.Scopes
	}
	if s.Scopes != nil {
		scopes = usableScopes(s.Scopes)
	}
	if old.Issuer == found.issuer.Issuer && old.Access != "" {
		if ch.StepUp {
			if includes(old.Requested, ch.Scopes) && includes(old.Scopes, ch.Scopes) {
				return nil, s.errorf("it says that the scopes of the token do not suffice, and names none that were not granted")
			}
			scopes = union(old.Requested, scopes, ch.Scopes)
		} else if s.Scopes == nil && len(old.Requested) > 0 {
			scopes = union(old.Requested, scopes)
		}
	}
	if slices.Contains(found.issuer.ScopesSupported, offlineAccess) {
		scopes = union(scopes, []string{offlineAccess})
	}
	return scopes, nil
}

// offlineAccess asks for a refresh token, where the authorization server knows the word.
const offlineAccess = "offline_access"

// config is the grant as the oauth2 package wants it.
func (g *grant) config(authURL string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: g.Client.ID, ClientSecret: g.Client.Secret, RedirectURL: g.Client.Redirect, Scopes: g.Requested,
		Endpoint: oauth2.Endpoint{AuthURL: authURL, TokenURL: g.TokenURL, AuthStyle: g.Client.style()},
	}
}

// pending returns the link of the stored flow for what the challenge asks, and starts a
// flow without one. Calls that are refused at the same time get the same link.
func (c *Client) pending(ctx context.Context, s *Server, o Owner, ch Challenge, redirect string) (string, error) {
	id := s.id(o)
	ctx, unlock, err := c.store.lock(ctx, id)
	if err != nil {
		return "", err
	}
	defer unlock()
	var f flow
	err = c.store.read(ctx, id+flowExt, &f)
	if err == nil && time.Now().Before(f.Expires.Add(-flowLife/2)) && f.Grant.Client.Redirect == redirect && includes(f.Grant.Requested, ch.Scopes) {
		return f.Link, nil
	}
	fresh, err := c.start(ctx, s, o, ch, redirect)
	if err != nil {
		return "", err
	}
	return fresh.Link, c.store.write(ctx, id+flowExt, fresh)
}

// The reasons why what a browser brings back does not count.
var (
	errState  = errors.New("this link is not one of this host, was used before, or is too old: ask for a new one")
	errIssuer = errors.New("the answer does not come from the authorization server that was asked")
	errDenied = errors.New("the authorization server says no")
	errNoCode = errors.New("the answer has no code")
)

// Finish ends the stored flow that an authorization response belongs to. A flow ends
// once, whatever comes of it.
func (c *Client) Finish(ctx context.Context, query url.Values) (Grant, error) {
	state := query.Get("state")
	id, _, ok := strings.Cut(state, ".")
	if !ok || len(state) > 256 || !isID(id) {
		return Grant{}, errState
	}
	f, err := c.takeFlow(ctx, id, state)
	if err != nil {
		return Grant{}, err
	}
	return c.finish(ctx, id, f, query)
}

// takeFlow removes the stored flow of that state and returns it.
func (c *Client) takeFlow(ctx context.Context, id, state string) (*flow, error) {
	if c.store.stamp(ctx, id+flowExt) == "" { // no lock file for what never was
		return nil, errState
	}
	ctx, unlock, err := c.store.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	f := new(flow)
	err = c.store.read(ctx, id+flowExt, f)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errState
	}
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) != 1 {
		return nil, errState
	}
	if err := c.store.remove(ctx, id+flowExt); err != nil {
		return nil, err
	}
	if !time.Now().Before(f.Expires) {
		return nil, errState
	}
	return f, nil
}

// isID reports whether a text is one that hashed returns.
func isID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// finish makes a grant of an authorization response after its state was checked. It checks
// who gave the answer before what it says, so that no one learns or does anything by an
// answer of another server.
func (c *Client) finish(ctx context.Context, id string, f *flow, query url.Values) (Grant, error) {
	iss, given := query.Get("iss"), query.Has("iss")
	if given && iss != f.Grant.Issuer || !given && f.IssRequired {
		return Grant{}, errIssuer
	}
	if query.Has("error") {
		return Grant{}, errors.Join(errDenied, errors.New(codeOf(query.Get("error"))))
	}
	code := query.Get("code")
	if code == "" || len(code) > maxToken {
		return Grant{}, errNoCode
	}
	ctx, cancel := context.WithTimeout(ctx, authorizeTimeout)
	defer cancel()
	h, done, err := newHTTPClient(&Server{URL: f.URL, PrivateNetwork: f.PrivateNetwork})
	if err != nil {
		return Grant{}, err
	}
	defer done()
	token, err := f.Grant.config("").Exchange(context.WithValue(ctx, oauth2.HTTPClient, h), code,
		oauth2.VerifierOption(f.Verifier), oauth2.SetAuthURLParam("resource", f.Grant.Resource))
	if err != nil {
		return Grant{}, &Error{Server: f.Grant.Server, Text: "the code was not exchanged for a token: " + short(err).Error()}
	}
	g := f.Grant
	if err := g.take(token); err != nil {
		return Grant{}, err
	}
	if err := c.keep(ctx, id, &g); err != nil {
		return Grant{}, err
	}
	return g.public(), c.onSignIn(ctx, g.public())
}

// keep stores a grant.
func (c *Client) keep(ctx context.Context, id string, g *grant) error {
	ctx, unlock, err := c.store.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	return c.store.write(ctx, id+grantExt, g)
}
