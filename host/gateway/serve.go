package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
)

// maxHeaderBytes bounds a request's header.
const maxHeaderBytes = 64 << 10

// ErrExposed says that a server without a token would be reachable from other
// machines.
var ErrExposed = errors.New("it is reachable from other machines, and the server has no token: give it one, or listen on a loopback address")

// Serve answers the requests of a listener, which it closes, until Shutdown. It
// refuses a listener beyond loopback unless there is a token, and once it has one
// every caller must name its session. Only one Serve may be under way.
func (s *Server) Serve(l net.Listener) error {
	if !isLoopback(l.Addr()) {
		if s.Token == "" {
			return errors.Join(fmt.Errorf("listening on %s: %w", l.Addr(), ErrExposed), l.Close())
		}
		s.exposed.Store(true)
	}
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.HeaderTimeout,
		IdleTimeout:       s.IdleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
		// A preflight is answered like any request: with no.
		DisableGeneralOptionsHandler: true,
	}
	s.mu.Lock()
	s.server = server
	s.mu.Unlock()
	if s.isStopping() {
		return l.Close()
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown ends the server and its host: it accepts no more, has the host park the
// cells that are running, and returns once their clients have the results and the
// host has ended. What is left when ctx ends is cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	defer s.waits.close()
	ended := make(chan error, 1)
	go func() { ended <- s.host.Shutdown(ctx) }()
	server := s.serving()
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
	if server := s.serving(); server != nil {
		return server.Close()
	}
	return nil
}

// serving is the http.Server of Serve, if it has been called.
func (s *Server) serving() *http.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server
}

// Exposed reports whether a listener of that address can be reached from other
// machines, so that Serve refuses it without a token.
func Exposed(addr net.Addr) bool { return !isLoopback(addr) }
