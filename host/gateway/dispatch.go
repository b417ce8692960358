package gateway

import (
	"net/http"
	"time"

	"github.com/quoinhq/quoin/host/internal/access"
	"github.com/quoinhq/quoin/host/internal/quota"
)

// ServeHTTP answers one request. A panic fails this request alone.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w := &trackedWriter{ResponseWriter: rw, status: http.StatusOK}
	if s.options.AccessLog {
		defer s.logAccess(w, r, time.Now())
	}
	defer s.recoverPanic(w, r)
	if r.ContentLength != 0 {
		// A body that no handler reads must arrive in time, too.
		setReadDeadline(w, time.Now().Add(s.options.BodyTimeout))
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if p := s.dispatch(w, r); p != nil {
		if p.Status >= http.StatusInternalServerError && p.Code == ProblemInternal {
			s.options.Logger.Error("a request failed on our side", "method", r.Method, "path", r.URL.Path, "error", p.Detail)
		}
		s.handlers.writeProblem(w, p)
	}
}

// dispatch passes a request through the checks to the handler of its route. The
// order of the checks is a promise: see Trust in the package documentation.
func (s *Server) dispatch(w http.ResponseWriter, r *http.Request) *Problem {
	if p := s.guard.checkAddress(r); p != nil {
		return p
	}
	if public := s.options.Public[r.URL.Path]; public != nil && isSafe(r.Method) {
		public.ServeHTTP(w, r)
		return nil
	}
	if p := s.guard.checkOrigin(r); p != nil {
		return p
	}
	rt, p := s.route(r)
	if p == nil && rt.open {
		return rt.handle(w, r, Session{})
	}
	if p == nil && rt.authenticate != nil && !s.guard.showsToken(r) {
		session, ok := rt.authenticate(w, r)
		if !ok {
			return nil
		}
		return rt.handle(w, r, session)
	}
	// Without the token a caller does not learn which paths there are.
	if p := s.guard.checkToken(r); p != nil {
		return p
	}
	if p != nil {
		return p
	}
	session, p := s.guard.session(r, rt.session)
	if p != nil {
		return p
	}
	if p := checkQuery(r, rt.query); p != nil {
		return p
	}
	if rt.meter == nil {
		return rt.handle(w, r, session)
	}
	return s.dispatchMetered(rt, w, r, session)
}

// isSafe reports whether requests of a method ask for nothing but an answer.
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// dispatchMetered charges the request to its session for as long as it lasts.
func (s *Server) dispatchMetered(rt *route, w http.ResponseWriter, r *http.Request, session Session) *Problem {
	// The body is read first: one that comes slowly must not count against others.
	release, p := s.handlers.bodies.readAhead(w, r, session)
	defer release()
	if p != nil {
		return p
	}
	if d := rt.meter.Take(quota.OwnerOf(session), 1); d != nil {
		return s.limits.busy(session, d)
	}
	defer rt.meter.Give(quota.OwnerOf(session), 1)
	if isClosed(s.stopping) {
		return shuttingDown()
	}
	return rt.handle(w, r, session)
}

// route finds the route of a request, mounted handlers included.
func (s *Server) route(r *http.Request) (*route, *Problem) {
	if rt := mounted(s.options, r.URL.Path); rt != nil {
		return rt, nil
	}
	return match(s.routes, r)
}

// recoverPanic is deferred around a request: a panic fails this request alone, is
// logged and counted, and the server holds no lock over it.
func (s *Server) recoverPanic(w *trackedWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { // a handler wants the connection cut
		panic(p)
	}
	access.OfHost(s.host).Engine.ReportPanic("request", p, "method", r.Method, "path", r.URL.Path)
	if w.started {
		panic(http.ErrAbortHandler) // the client must not take half an answer for a whole one
	}
	s.handlers.writeProblem(w, problem(http.StatusInternalServerError, ProblemInternal, "the server failed while it served this request; its log has the cause"))
}

// logAccess logs a request that has been answered: who asked for what, and the answer's
// status. The query, the bodies and all headers but the session headers stay out.
func (s *Server) logAccess(w *trackedWriter, r *http.Request, start time.Time) {
	args := []any{"method", r.Method, "path", shown(r.URL.Path), "status", w.status, "bytes", w.bytes,
		"took", time.Since(start).Round(time.Microsecond), "remote", r.RemoteAddr}
	if session, err := SessionOf(r.Header); err == nil && named(session) {
		args = append(args, "agent", session.AgentID, "sessionKey", session.SessionKey, "session", session.SessionID)
	}
	s.options.Logger.Info("request", args...)
}

// trackedWriter records whether an answer has started, its status and its size.
type trackedWriter struct {
	http.ResponseWriter
	started bool
	status  int
	bytes   int64
}

// Unwrap lets an http.ResponseController reach the connection.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *trackedWriter) WriteHeader(status int) {
	if !w.started {
		w.started, w.status = true, status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *trackedWriter) Write(b []byte) (int, error) {
	w.started = true
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}
