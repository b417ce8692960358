package gateway

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// responder writes answers.
type responder struct {
	log     *slog.Logger
	timeout time.Duration // how long a client may take to accept one
}

// writeJSON answers with one JSON document. It reports whether the client may
// have got it.
func (o responder) writeJSON(w http.ResponseWriter, status int, contentType string, v any) bool {
	b, err := jsontext.Marshal(v)
	if err != nil {
		o.log.Error("an answer cannot be written as JSON", "error", err)
		status, contentType = http.StatusInternalServerError, "application/problem+json"
		b = []byte(`{"type":"urn:quoin:problem:internal_error","title":"Internal Server Error","status":500,"code":"internal_error","detail":"the answer cannot be written as JSON"}`)
	}
	w.Header().Set("Content-Type", contentType)
	setWriteDeadline(w, time.Now().Add(o.timeout))
	w.WriteHeader(status)
	_, err = w.Write(append(b, '\n'))
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	return err == nil
}

// ok answers a good request.
func (o responder) ok(w http.ResponseWriter, v any) *Problem {
	o.writeJSON(w, http.StatusOK, "application/json", v)
	return nil
}

// writeProblem answers a request that is refused, with the headers that its status
// asks for.
func (o responder) writeProblem(w http.ResponseWriter, p *Problem) {
	h := w.Header()
	switch {
	case p.allow != "":
		h.Set("Allow", p.allow)
	case p.retry > 0:
		h.Set("Retry-After", strconv.Itoa(int(p.retry/time.Second)))
	case p.Status == http.StatusUnauthorized:
		h.Set("WWW-Authenticate", `Bearer realm="quoin"`)
	case p.Status == http.StatusRequestTimeout:
		h.Set("Connection", "close")
	}
	o.writeJSON(w, p.Status, "application/problem+json", p)
}

// setReadDeadline bounds how long the request may take to arrive. A writer that
// has no deadlines belongs to the embedder, who then bounds it.
func setReadDeadline(w http.ResponseWriter, t time.Time) {
	if err := http.NewResponseController(w).SetReadDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) {
		w.Header().Set("Connection", "close") // the connection is dead
	}
}

// setWriteDeadline bounds how long the client may take to accept the answer, as
// setReadDeadline does for the request.
func setWriteDeadline(w http.ResponseWriter, t time.Time) {
	if err := http.NewResponseController(w).SetWriteDeadline(t); err != nil && !errors.Is(err, http.ErrNotSupported) {
		w.Header().Set("Connection", "close")
	}
}
