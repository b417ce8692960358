package gateway

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
)

// Options say whom a Server answers and how long it waits. The zero value
// answers requests that reach this machine's loopback addresses, and no others.
// A number or a duration that is not above zero stands for its default.
//
// To serve other machines, set Token, listen on an address of the network, and put
// a proxy that speaks TLS in front. List the proxy's name in Hosts.
type Options struct {
	// Token is what callers send as "Authorization: Bearer TOKEN": 16 to 4096
	// visible ASCII characters. Without a token the server answers loopback
	// connections only. A caller who has the token may act for every session,
	// and see and end the runs of all sessions.
	Token string
	// Hosts are the names, without a port, that a request may be addressed to
	// over loopback in addition to localhost and the loopback addresses: the
	// names of a proxy in front. Over other addresses any name will do when Hosts is empty.
	Hosts []string
	// MaxBody bounds a request's body in bytes. Defaults to 8 MiB.
	MaxBody int64
	// MaxCalls bounds the exec and wait requests under way; the next one gets
	// 503. Defaults to 256.
	MaxCalls int
	// MaxStreams bounds the event streams that are open; the next one gets 503.
	// Defaults to 32.
	MaxStreams int
	// HeaderTimeout bounds how long a request's header may take to arrive, of
	// connections that Serve accepts. Defaults to 10 s.
	HeaderTimeout time.Duration
	// BodyTimeout bounds how long a request's body may take to arrive. Defaults
	// to 30 s.
	BodyTimeout time.Duration
	// WriteTimeout bounds how long a client may take to accept an answer, or
	// one event of a stream. Defaults to 30 s.
	WriteTimeout time.Duration
	// IdleTimeout bounds how long a connection is kept between two requests, of
	// those that Serve accepts. Defaults to 2 minutes.
	IdleTimeout time.Duration
	// KeepResult is how long the result of a wait is kept for its client's next wait, if the
	// client went away. Defaults to 15 minutes.
	KeepResult time.Duration
	// Trajectory is where the trajectories of runs are read from, such as a
	// *trajectory.Dir. Defaults to nil: no run has a trajectory.
	Trajectory Trajectories
	// Development lets callers on this machine put plugins of theirs into the place
	// of installed ones: the server runs programs that they name, if these belong
	// to its own user.
	Development bool
	// Mounts are other ways to reach the same host, by the path they are served
	// under, such as "/mcp". See Mount.
	Mounts map[string]Mount
	// Auth lets callers of a mount in, by the path of the mount, who show something
	// else than Token, such as a token of an identity provider. A mount that has one
	// wants it or Token, over loopback too.
	Auth map[string]Authenticator
	// Public are handlers of single paths, such as "/oauth/callback", that need neither
	// token nor session and that web pages of any origin may reach. They get GET, HEAD
	// and OPTIONS requests alone.
	Public map[string]http.Handler
	// Logger takes what operators should know. Defaults to slog.Default.
	Logger *slog.Logger
	// AccessLog logs every request once it has been answered, at the level info:
	// method, path, status, bytes, time, remote address and session. It never has a
	// query, a body or a token.
	AccessLog bool

	times times // zero outside of tests
}

// filled checks the options and returns them with their defaults.
func (o Options) filled() (Options, error) {
	if o.Token != "" {
		if err := checkTokenForm(o.Token); err != nil {
			return o, err
		}
	}
	hosts := make([]string, len(o.Hosts))
	for i, h := range o.Hosts {
		if hosts[i] = canonicalHost(h); hosts[i] == "" || strings.ContainsAny(h, "/ ") {
			return o, fmt.Errorf("host %q is not a name or address without a port", h)
		}
	}
	o.Hosts = hosts
	for path := range o.Mounts {
		if !strings.HasPrefix(path, "/") || path == "/" || strings.HasSuffix(path, "/") || strings.HasPrefix(path+"/", "/v1/") {
			return o, fmt.Errorf("mount %q: expected a path such as /mcp, outside of /v1", path)
		}
	}
	for path := range o.Auth {
		if o.Mounts[path] == nil {
			return o, fmt.Errorf("auth %q: expected the path of a mount", path)
		}
	}
	for path, public := range o.Public {
		if !strings.HasPrefix(path, "/") || strings.HasPrefix(path+"/", "/v1/") || public == nil {
			return o, fmt.Errorf("public %q: expected a path such as /oauth/callback, outside of /v1, and its handler", path)
		}
	}
	if o.times == (times{}) {
		o.times = defaultTimes
	}
	def(&o.MaxBody, 8<<20)
	def(&o.MaxCalls, 256)
	def(&o.MaxStreams, 32)
	def(&o.HeaderTimeout, 10*time.Second)
	def(&o.BodyTimeout, 30*time.Second)
	def(&o.WriteTimeout, 30*time.Second)
	def(&o.IdleTimeout, 2*time.Minute)
	def(&o.KeepResult, 15*time.Minute)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o, nil
}

// def sets *v to its default unless it is above zero.
func def[T int | int64 | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// canonicalHost returns a host in the form in which hosts are compared: without
// port and brackets, in lower case, without a final dot.
func canonicalHost(h string) string {
	if name, _, err := net.SplitHostPort(h); err == nil {
		h = name
	}
	h = strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")
	return strings.ToLower(strings.TrimSuffix(h, "."))
}

// Mount is another way to reach the host, such as a protocol of its own or a user
// interface. Its requests have passed the checks of /v1: address, Host, origin,
// token and session. A mount bounds its own bodies and answers. The session is the
// zero Session when the caller named no session and may do so.
type Mount func(w http.ResponseWriter, r *http.Request, session Session)

// Authenticator says for whom a request to a mount is. If it is for no caller that
// may come in, it answers the request itself and returns false. The request has
// passed the checks of address, Host and origin.
type Authenticator func(w http.ResponseWriter, r *http.Request) (session Session, ok bool)

// Trajectories reads recorded runs. Read fails with trajectory.ErrUnknownRun,
// ErrWrongSession or ErrDamaged.
type Trajectories interface {
	Read(s codemode.Session, runID string) (*trajectory.Run, error)
	List(s codemode.Session) ([]trajectory.Summary, error)
}
