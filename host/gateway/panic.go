package gateway

import "net/http"

// contain is deferred around a request: a panic fails this request alone, is logged
// and counted, and no lock of the server is held over it.
func (s *Server) contain(w *trackedWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { // ours: to cut the connection
		panic(p)
	}
	s.host.ReportPanic("request", p, "method", r.Method, "path", r.URL.Path)
	if w.began {
		panic(http.ErrAbortHandler) // the client must not take half an answer for a whole one
	}
	problem(http.StatusInternalServerError, ProblemInternal, "the server failed while it served this request; its log has the cause").write(s, w)
}

// trackedWriter knows whether an answer has begun.
type trackedWriter struct {
	http.ResponseWriter
	began bool
}

// Unwrap lets an http.ResponseController find what the writer can do.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *trackedWriter) WriteHeader(status int) {
	w.began = true
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *trackedWriter) Write(b []byte) (int, error) {
	w.began = true
	return w.ResponseWriter.Write(b)
}
