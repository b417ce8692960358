package oauth

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/documents"
)

// Options configure Open.
type Options struct {
	// OnSignIn is called once a grant has been stored.
	OnSignIn func(context.Context, Grant) error
	Logger   *slog.Logger
}

// Client signs in to servers and keeps the grants.
type Client struct {
	store    store
	onSignIn func(context.Context, Grant) error
	log      *slog.Logger
	callback atomic.Pointer[string] // where browsers come back to; nil if they cannot
}

// New returns the client that keeps grants in a store with encrypted contents.
func New(encrypted documents.Store, o Options) *Client {
	if o.OnSignIn == nil {
		o.OnSignIn = func(context.Context, Grant) error { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Client{store: store{encrypted}, onSignIn: o.OnSignIn, log: o.Logger}
}

// ErrNoGrant means that the owner has not signed in.
var ErrNoGrant = errors.New("there is no sign-in")

// Grant is what is known of a consent, without its tokens.
type Grant struct {
	Server  string
	PerUser bool
	// ListsOnly is set for the host's own of a server that users sign in to.
	ListsOnly bool
	Session   codemode.Session // agent and session key, or else session id, if a user's
	Issuer    string
	Scopes    []string
	Expires   time.Time
	Renewable bool
}

// grant is a consent with its tokens.
type grant struct {
	Server    string
	Owner     Owner
	ListsOnly bool
	Issuer    string
	Resource  string
	TokenURL  string
	RevokeURL string
	Client    client
	// Requested are the scopes that were asked for, Scopes those that were given.
	Requested, Scopes []string
	Access, Refresh   string
	Expires           time.Time
}

// public returns what may be shown of it.
func (g *grant) public() Grant {
	return Grant{
		Server: g.Server, PerUser: g.Owner.User, ListsOnly: g.ListsOnly, Session: codemode.Session{AgentID: g.Owner.AgentID, SessionKey: g.Owner.SessionKey, SessionID: g.Owner.SessionID},
		Issuer: g.Issuer, Scopes: g.Scopes, Expires: g.Expires, Renewable: g.Refresh != "",
	}
}

// load returns the grant of an owner, or ErrNoGrant.
func (c *Client) load(ctx context.Context, id string) (*grant, error) {
	g := new(grant)
	err := c.store.read(ctx, id+grantExt, g)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoGrant
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Find returns the grant of an owner, or ErrNoGrant.
func (c *Client) Find(ctx context.Context, s *Server, o Owner) (Grant, error) {
	g, err := c.load(ctx, s.id(o))
	if err != nil {
		return Grant{}, err
	}
	return g.public(), nil
}

// Changed returns a mark that is another one whenever the grant of an owner is.
func (c *Client) Changed(ctx context.Context, s *Server, o Owner) string {
	return c.store.stamp(ctx, s.id(o)+grantExt)
}
