package gateway

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
)

// bodyReader reads the bodies of requests within the limits of the server.
type bodyReader struct {
	max     int64         // bytes of one body
	timeout time.Duration // how long a body may take to arrive
	limits  *limits
}

// fields reads the request's body, which must be one JSON object.
func (b bodyReader) fields(w http.ResponseWriter, r *http.Request) (*fields, *Problem) {
	if p := checkMediaType(r.Header); p != nil {
		return nil, p
	}
	whole, p := b.readAll(w, r.Body)
	if p != nil {
		return nil, p
	}
	return decodeFields(whole)
}

// readAhead reads the body before the request is charged for a call or a stream.
// Its bytes are charged to the session as they arrive, until release is called.
func (b bodyReader) readAhead(w http.ResponseWriter, r *http.Request, session Session) (release func(), _ *Problem) {
	charged := &quota.Reader{Of: r.Body, Meter: b.limits.bodies, Owner: quota.OwnerOf(session)}
	release = charged.Release
	if r.ContentLength == 0 {
		return release, nil
	}
	if p := checkMediaType(r.Header); p != nil {
		return release, p
	}
	whole, p := b.readAll(w, charged)
	if charged.Denied != nil {
		return release, b.limits.busy(session, charged.Denied)
	}
	r.Body = io.NopCloser(bytes.NewReader(whole))
	return release, p
}

// readAll reads a body to its end.
func (b bodyReader) readAll(w http.ResponseWriter, body io.ReadCloser) ([]byte, *Problem) {
	whole, err := io.ReadAll(http.MaxBytesReader(w, body, b.max))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, problem(http.StatusRequestEntityTooLarge, ProblemBodyTooLarge, "the body is longer than the %d bytes this server takes", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem(http.StatusRequestTimeout, ProblemBodyTimeout, "the body did not arrive within %s", b.timeout)
	case err != nil:
		return nil, invalid("body", "it did not arrive whole: "+err.Error(), "a JSON object")
	}
	// The body has arrived: the handler may take as long as it needs.
	setReadDeadline(w, time.Time{})
	return whole, nil
}

// checkMediaType insists on JSON. A web page cannot send JSON to another origin
// without a preflight request, which this server refuses.
func checkMediaType(h http.Header) *Problem {
	given := h.Get("Content-Type")
	media, params, err := mime.ParseMediaType(given)
	charset, hasCharset := params["charset"]
	if err != nil || media != "application/json" || hasCharset && !strings.EqualFold(charset, "utf-8") {
		return problem(http.StatusUnsupportedMediaType, ProblemMediaType, "the content type is %q, expected application/json", given)
	}
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return problem(http.StatusUnsupportedMediaType, ProblemMediaType, "the content coding is %q, expected none", coding)
	}
	return nil
}
