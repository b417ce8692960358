package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/internal/quota"
)

// Server answers HTTP requests on behalf of a host. It is an http.Handler, safe
// for concurrent use.
type Server struct {
	Options  // as filled in by New
	host     *host.Host
	routes   []route
	tokenSum [sha256.Size]byte
	cross    *http.CrossOriginProtection
	calls    *quota.Meter // exec and wait requests under way
	streams  *quota.Meter // event streams
	bodies   *quota.Meter // bytes of bodies
	waits    deliveries

	developing developments

	exposed  atomic.Bool // Serve listens beyond loopback
	stopping chan struct{}
	stop     func() // closes stopping, once

	mu     sync.Mutex
	server *http.Server // of Serve
}

// New makes a server of a host, which it borrows: only Shutdown ends it. It fails
// when the options make no sense.
func New(h *host.Host, o Options) (*Server, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	s := &Server{
		Options:  o,
		host:     h,
		tokenSum: sha256.Sum256([]byte(o.Token)),
		cross:    http.NewCrossOriginProtection(),
		calls:    quota.NewMeter("calls", "exec and wait requests under way", "server.maxCalls", int64(o.MaxCalls), h.Quotas().Shares()),
		streams:  quota.NewMeter("streams", "event streams", "server.maxStreams", int64(o.MaxStreams), h.Quotas().Shares()),
		bodies:   quota.NewMeter("body_bytes", "bytes of request bodies", "server.maxBodyBytes, times 32", 32*o.MaxBody, h.Quotas().Shares()),
		waits:    deliveries{keep: o.KeepResult, log: o.Logger},
		stopping: make(chan struct{}),
	}
	s.stop = sync.OnceFunc(func() { close(s.stopping) })
	s.routes = s.table()
	return s, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.AccessLog {
		s.accessed(w, r)
		return
	}
	s.serve(w, r)
}

func (s *Server) serve(rw http.ResponseWriter, r *http.Request) {
	w := &trackedWriter{ResponseWriter: rw}
	defer s.contain(w, r)
	if r.ContentLength != 0 {
		// Also what nobody wants to read must arrive in time.
		setReadDeadline(w, time.Now().Add(s.BodyTimeout))
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p := s.answer(w, r); p != nil {
		if p.Status >= http.StatusInternalServerError && p.Code == ProblemInternal {
			s.Logger.Error("a request failed on our side", "method", r.Method, "path", r.URL.Path, "error", p.Detail)
		}
		p.write(s, w)
	}
}

// answer passes a request through the checks to its route.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) *Problem {
	if p := s.checkAddress(r); p != nil {
		return p
	}
	found, p := s.match(r)
	if p == nil && found.open {
		return found.handle(w, r, Session{})
	}
	if p := s.checkToken(r); p != nil {
		return p
	}
	if p != nil {
		return p
	}
	session, p := s.session(r, found.session)
	if p != nil {
		return p
	}
	if p := checkQuery(r, found.query); p != nil {
		return p
	}
	if found.places != nil {
		// A body that comes slowly must not keep a place from others.
		done, p := s.readBody(w, r, session)
		defer done()
		if p != nil {
			return p
		}
		if d := found.places.Take(session.Owner(), 1); d != nil {
			return s.busy(session, d)
		}
		defer found.places.Give(session.Owner(), 1)
	}
	if s.isStopping() && found.places != nil {
		return shuttingDown()
	}
	return found.handle(w, r, session)
}

func shuttingDown() *Problem {
	p := problem(http.StatusServiceUnavailable, ProblemShuttingDown, "the server is shutting down")
	p.retry = 5 * time.Second
	return p
}

func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// writeJSON answers with one JSON document. It reports whether the client may
// have got it.
func (s *Server) writeJSON(w http.ResponseWriter, status int, contentType string, v any) bool {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		s.Logger.Error("an answer cannot be written as JSON", "error", err)
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		b.Reset()
		b.WriteString(`{"type":"urn:quoin:problem:internal_error","title":"Internal Server Error","status":500,"code":"internal_error","detail":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", contentType)
	setWriteDeadline(w, time.Now().Add(s.WriteTimeout))
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	return err == nil
}

// ok is writeJSON of an answer to a good request.
func (s *Server) ok(w http.ResponseWriter, v any) *Problem {
	s.writeJSON(w, http.StatusOK, "application/json", v)
	return nil
}
