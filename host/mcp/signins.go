package mcp

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/oauth"
	"github.com/quoinhq/quoin/internal/documents"
)

// SignInPer says who has to consent to the calls of a server.
type SignInPer string

// The values of OAuth.Per.
const (
	SignInPerHost SignInPer = "host" // one sign-in serves every call; the default
	SignInPerUser SignInPer = "user" // each agent and session key signs in; without both, each session id
)

// OAuth says how a host signs in to a server on the network. The zero value finds out
// everything from the server.
type OAuth struct {
	// Off has a 401 be an error: no one is asked to sign in.
	Off bool
	// Per says who signs in. Defaults to SignInPerHost.
	Per SignInPer
	// ClientID and ClientSecret identify a client that you have registered with the
	// authorization server Issuer. Without Issuer they are for the first server that asks.
	ClientID     string
	ClientSecret func() (string, error)
	Issuer       string
	// ClientMetadataURL is the https address of a client id metadata document.
	ClientMetadataURL string
	// Scopes are asked for instead of those that the server names. Defaults to nil.
	Scopes []string
	// CallbackPort is the port on 127.0.0.1 that Login listens on. Defaults to a free one.
	CallbackPort int
	// PrivateNetwork lets the authorization server have a private address.
	PrivateNetwork bool
}

// ErrNoSignIn means that there is no sign-in to the server.
var ErrNoSignIn = oauth.ErrNoGrant

// SignInOptions configure OpenSignIns.
type SignInOptions struct {
	// Cipher encrypts the files; see runstore.Dir.Cipher. Required by OpenSignIns.
	Cipher cipher.AEAD
	// OnSignIn is called once a sign-in of Login or Callback has been stored. Use it to
	// answer the questions that wait for it. Defaults to nil.
	OnSignIn func(context.Context, SignIn) error
	// Logger takes what operators should know. Defaults to slog.Default.
	Logger *slog.Logger
}

// SignIns keeps the sign-ins to servers: tokens and registrations, encrypted, in a
// directory or in the database of package host/postgres. Several processes may use them. It is safe for concurrent use.
type SignIns struct{ client *oauth.Client }

// SignIn is what one sign-in allows. It has no token in it.
type SignIn struct {
	Server  string
	PerUser bool
	// ListsOnly is set for the host's own sign-in to a server that users sign in to: the
	// host lists the tools with it, and no call uses it.
	ListsOnly bool
	// Session has the agent and the session key that the sign-in belongs to, or else the
	// session id, if it is a user's.
	Session codemode.Session
	Issuer  string
	Scopes  []string
	// Expires is when the token ends, zero if that is not known. Renewable tells that
	// it is then renewed without a person.
	Expires   time.Time
	Renewable bool
}

// Covers reports whether the calls of a session use the sign-in.
func (s SignIn) Covers(c codemode.Session) bool {
	return !s.ListsOnly && (!s.PerUser || ownerOfUser(s.Session) == ownerOfUser(c))
}

// OpenSignIns opens the directory, which it creates with mode 0700.
func OpenSignIns(dir string, o SignInOptions) (*SignIns, error) {
	if o.Cipher == nil {
		return nil, errors.New("sign-ins need a cipher")
	}
	docs, err := documents.OpenDir(dir, documents.DirOptions{MaxBytes: oauth.MaxDocument, Private: true})
	if err != nil {
		return nil, fmt.Errorf("directory of sign-ins: %w", err)
	}
	return NewSignIns(documents.Sealed(docs, documents.Encrypted(o.Cipher)), o), nil
}

// NewSignIns returns the sign-ins that a driver keeps. Their contents are encrypted. It is for
// drivers of this module; o.Cipher does not count.
func NewSignIns(encrypted documents.Store, o SignInOptions) *SignIns {
	opened := oauth.Options{Logger: o.Logger}
	if o.OnSignIn != nil {
		opened.OnSignIn = func(ctx context.Context, g oauth.Grant) error { return o.OnSignIn(ctx, SignIn(g)) }
	}
	return &SignIns{client: oauth.New(encrypted, opened)}
}

// Callback returns the handler of address, such as
// https://quoin.example.com/oauth/callback. From then on questions have a link that
// leads back there. The handler needs no token of the host: a link works once.
func (s *SignIns) Callback(address string) http.Handler { return s.client.Callback(address) }

// ownerOfUser returns the owner of the sign-in that a session's calls use, where users sign
// in.
func ownerOfUser(c codemode.Session) oauth.Owner {
	return (&oauth.Server{PerUser: true}).OwnerOf(c)
}

// ownerOf returns the owner of the sign-in that a command means. The zero Session means the
// host's own, also where users sign in.
func ownerOf(target *oauth.Server, who codemode.Session) oauth.Owner {
	if who.AgentID == "" && who.SessionKey == "" {
		return oauth.Owner{}
	}
	return target.OwnerOf(who)
}
