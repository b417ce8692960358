package mcp

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/host/internal/oauth"
)

// signer signs in to one server for its keeper.
type signer struct {
	client *oauth.Client
	target *oauth.Server
}

// newSigner returns the signer of a server, or nil if it is not signed in to.
func newSigner(s *SignIns, server *Server) *signer {
	if s == nil || !server.signsIn() {
		return nil
	}
	target, err := server.signInTarget()
	if err != nil {
		return nil
	}
	return &signer{client: s.client, target: target}
}

// carry has a guard send tokens.
func (s *signer) carry(g *guard) {
	if s != nil {
		g.carrier = &oauth.Transport{Base: g.base, Client: s.client, Server: s.target}
	}
}

// stamp changes whenever the sign-in that the connection uses does.
func (s *signer) stamp(ctx context.Context) string {
	return s.client.Changed(ctx, s.target, oauth.Owner{})
}

// wantsSignIn reports whether an error says that someone has to sign in.
func wantsSignIn(err error) bool {
	var required *oauth.Required
	return errors.As(err, &required)
}
