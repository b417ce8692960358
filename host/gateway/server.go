package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/quoinhq/quoin/host"
)

// maxHeaderBytes bounds a request's header.
const maxHeaderBytes = 64 << 10

// ErrExposed says that a server without a token would be reachable from other
// machines. Serve returns it.
var ErrExposed = errors.New("it is reachable from other machines, and the server has no token: give it one, or listen on a loopback address")

// Server answers HTTP requests on behalf of a host. It is an http.Handler, safe
// for concurrent use.
type Server struct {
	options  Options // as filled in by New
	host     *host.Host
	guard    *guard
	limits   *limits
	handlers *handlers
	waits    *detachedWaits
	routes   []route

	stopping chan struct{}
	stop     func() // closes stopping, once

	mu     sync.Mutex
	server *http.Server // set by Serve
}

// New returns a server of a host. The server borrows the host: only Shutdown ends
// it. New fails when the options make no sense.
func New(h *host.Host, o Options) (*Server, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	stopping := make(chan struct{})
	s := &Server{
		options:  o,
		host:     h,
		guard:    newGuard(o),
		limits:   newLimits(h, o),
		waits:    &detachedWaits{keep: o.KeepResult, log: o.Logger},
		stopping: stopping,
		stop:     sync.OnceFunc(func() { close(stopping) }),
	}
	s.handlers = &handlers{
		responder: responder{log: o.Logger, timeout: o.WriteTimeout}, options: o, host: h,
		bodies: bodyReader{max: o.MaxBody, timeout: o.BodyTimeout, limits: s.limits}, stopping: stopping,
	}
	s.routes = routesOf(s.handlers, s.waits, s.limits)
	return s, nil
}

// Serve answers the requests of a listener until Shutdown or Close, and closes the
// listener. It refuses a listener beyond loopback unless the server has a token.
// On such a listener every caller must name its session. Call Serve once.
func (s *Server) Serve(l net.Listener) error {
	if !isLoopback(l.Addr()) {
		if s.options.Token == "" {
			return errors.Join(fmt.Errorf("listening on %s: %w", l.Addr(), ErrExposed), l.Close())
		}
		s.guard.exposed.Store(true)
	}
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.options.HeaderTimeout,
		IdleTimeout:       s.options.IdleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.options.Logger.Handler(), slog.LevelDebug),
		// A preflight request gets the same refusal as any other request.
		DisableGeneralOptionsHandler: true,
	}
	s.mu.Lock()
	s.server = server
	s.mu.Unlock()
	if isClosed(s.stopping) {
		return l.Close()
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown ends the server and its host. It accepts no more requests, has the host
// park the cells that are running, and returns once their clients have the results
// and the host has ended. When ctx ends first, Shutdown cuts off what is left.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	defer s.waits.close()
	ended := make(chan error, 1)
	go func() { ended <- s.host.Shutdown(ctx) }()
	server := s.httpServer()
	if server == nil {
		return <-ended
	}
	err := server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	return errors.Join(err, <-ended)
}

// Close ends the server at once and leaves the host alone. Requests under way are
// cut off.
func (s *Server) Close() error {
	s.stop()
	defer s.waits.close()
	if server := s.httpServer(); server != nil {
		return server.Close()
	}
	return nil
}

// httpServer returns the http.Server of Serve, or nil before Serve.
func (s *Server) httpServer() *http.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server
}

// Exposed reports whether other machines can reach a listener of that address, so
// that Serve refuses it without a token.
func Exposed(addr net.Addr) bool { return !isLoopback(addr) }
