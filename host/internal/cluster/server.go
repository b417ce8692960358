package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// path is where hosts ask.
const path = "/v1/run"

// The bounds of a server. A connection carries maxStreams requests at once.
const (
	MaxRequests    = 4096
	maxFeeds       = MaxRequests / 4 // of events; those who wait for runs come first
	maxConnections = 256
	maxStreams     = 1024
	maxHeader      = 16 << 10
)

// Handler answers a request of another host, which may tell what happens before it replies.
// The context ends when the asker is gone. The request has been checked, except for whether
// this host holds the run and whether the session may have it.
type Handler func(ctx context.Context, q *Request, tell func(*Frame)) *Reply

// Server answers other hosts.
type Server struct {
	host    string
	times   Times
	handler Handler
	http    *http.Server
	places  chan struct{} // taken by requests
	feeds   chan struct{} // taken by those for events, too
	ended   sync.WaitGroup
}

// Serve answers other hosts for the host of that id until Close. It closes the listener.
func Serve(l net.Listener, c *Credentials, host string, h Handler, log *slog.Logger, times Times) *Server {
	s := &Server{host: host, times: times, handler: h, places: make(chan struct{}, MaxRequests), feeds: make(chan struct{}, maxFeeds)}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	config := c.server.Clone()
	config.NextProtos = []string{"h2"}
	s.http = &http.Server{
		Handler: http.HandlerFunc(s.serve), TLSConfig: config, Protocols: protocols,
		ReadHeaderTimeout: times.HeaderTimeout, IdleTimeout: 2 * times.IdleTimeout, MaxHeaderBytes: maxHeader,
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: maxStreams, SendPingTimeout: times.PingAfter, PingTimeout: times.PingTimeout, WriteByteTimeout: times.PingTimeout},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.ended.Go(func() {
		// The server changes its own configuration while it starts.
		err := s.http.Serve(newHandshakes(l, config.Clone(), times.HeaderTimeout))
		if !errors.Is(err, http.ErrServerClosed) {
			log.Error("other hosts cannot ask this one any more", "error", err)
		}
	})
	return s
}

// Close ends the server. Requests under way get until ctx ends.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	s.ended.Wait()
	return err
}

// serve answers one request.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != path || r.Method != http.MethodPost {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	if !take(s.places) {
		http.Error(w, ErrBusy.Error(), http.StatusServiceUnavailable)
		return
	}
	defer leave(s.places)
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(s.times.BodyTimeout)); err != nil {
		http.Error(w, "no deadlines", http.StatusInternalServerError)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
		return
	}
	_ = control.SetReadDeadline(time.Time{}) // as before
	q, err := parseRequest(text)
	if err != nil {
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
		return
	}
	if q.Host != s.host {
		http.Error(w, "another host is meant", http.StatusMisdirectedRequest)
		return
	}
	if q.Verb == VerbEvents {
		if !take(s.feeds) {
			http.Error(w, ErrBusy.Error(), http.StatusServiceUnavailable)
			return
		}
		defer leave(s.feeds)
	}
	s.answer(w, r.Context(), q)
}

// take takes a place if there is one.
func take(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

func leave(places chan struct{}) { <-places }

// answer writes the frames of an answer, each at once.
func (s *Server) answer(w http.ResponseWriter, ctx context.Context, q *Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	control, lines := http.NewResponseController(w), json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	write := func(f *Frame) {
		// An asker that cannot be told is gone: its context ends.
		if lines.Encode(f) == nil {
			_ = control.Flush()
		}
	}
	if q.Verb == VerbGreet {
		write(&Frame{Reply: &Reply{Done: true}})
		return
	}
	write(&Frame{Reply: s.handler(ctx, q, write)})
}
