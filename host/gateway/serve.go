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

// Shutdown ends the server: it accepts no more, ends streams, and returns once
// the requests under way have been answered, or when ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	s.mu.Lock()
	server := s.server
	s.mu.Unlock()
	defer s.waits.close()
	if server == nil {
		return nil
	}
	return server.Shutdown(ctx)
}

// Exposed reports whether a listener of that address can be reached from other
// machines, so that Serve refuses it without a token.
func Exposed(addr net.Addr) bool { return !isLoopback(addr) }
