package mcp

import (
	"context"
	"crypto/cipher"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// SignInPer says whose consent the calls of a server need.
type SignInPer string

// The values of OAuth.Per.
const (
	SignInPerHost SignInPer = "host" // one sign-in serves every call; the default
	SignInPerUser SignInPer = "user" // each agent and session key signs in
)

// OAuth says how a host signs in to a server on the network. The zero value finds out
// everything from the server.
type OAuth struct {
	// Off has a 401 be an error: no one is asked to sign in.
	Off bool
	// Per says who signs in. Defaults to SignInPerHost.
	Per SignInPer
	// ClientID and ClientSecret are those of a client that you have registered with the
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
var ErrNoSignIn = errors.New("there is no sign-in")

// SignInOptions configure OpenSignIns.
type SignInOptions struct {
	// Cipher encrypts the files; see runstore.Dir.Cipher. Required.
	Cipher cipher.AEAD
	// OnSignIn is called once a sign-in of Login or Callback has been stored. Use it to
	// answer the questions that wait for it. Defaults to nil.
	OnSignIn func(context.Context, SignIn) error
	// Logger takes what operators should know. Defaults to slog.Default.
	Logger *slog.Logger
}

// SignIns keeps the sign-ins to servers: tokens and registrations, encrypted, in a
// directory. Several processes may use one directory. It is safe for concurrent use.
type SignIns struct{}

// SignIn is what one sign-in allows. It has no token in it.
type SignIn struct {
	Server  string
	PerUser bool
	// Session has the agent and the session key whose sign-in it is, if it is a user's.
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
	return !s.PerUser || s.Session.AgentID == c.AgentID && s.Session.SessionKey == c.SessionKey
}

// OpenSignIns opens the directory, which it creates with mode 0700.
func OpenSignIns(dir string, o SignInOptions) (*SignIns, error) { return nil, ErrNoSignIn }

// Login signs in to a server for who: it listens on loopback, calls show with the link
// that a browser has to open, and returns once the browser has come back, or ctx ends.
func (s *SignIns) Login(ctx context.Context, server Server, who codemode.Session, show func(link string) error) (SignIn, error) {
	return SignIn{}, ErrNoSignIn
}

// Logout forgets a sign-in, and revokes its tokens where the authorization server can.
// The error is ErrNoSignIn if there was no sign-in; any other means that the tokens are
// forgotten but may not be revoked.
func (s *SignIns) Logout(ctx context.Context, server Server, who codemode.Session) (SignIn, error) {
	return SignIn{}, ErrNoSignIn
}

// Find returns the sign-in that the calls of who use. The error is ErrNoSignIn if they
// have to sign in first.
func (s *SignIns) Find(server Server, who codemode.Session) (SignIn, error) {
	return SignIn{}, ErrNoSignIn
}

// Callback returns the handler of address, such as
// https://quoin.example.com/oauth/callback. From then on questions have a link that
// leads back there. The handler needs no token of the host: a link works once.
func (s *SignIns) Callback(address string) http.Handler { return http.NotFoundHandler() }
