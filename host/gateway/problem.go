package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
)

// ProblemCode classifies a request that was refused. The list is append-only.
type ProblemCode string

// The codes of problems, with the HTTP status each comes with.
const (
	ProblemInvalidRequest   ProblemCode = "invalid_request"        // 400: body, header, path or query
	ProblemUnauthorized     ProblemCode = "unauthorized"           // 401: no token, or a wrong one
	ProblemForbiddenAddress ProblemCode = "forbidden_address"      // 403: beyond loopback without a token
	ProblemForbiddenHost    ProblemCode = "forbidden_host"         // 403: addressed to a name that is not ours
	ProblemCrossOrigin      ProblemCode = "cross_origin"           // 403: a web page of another origin
	ProblemDevelopment      ProblemCode = "development_refused"    // 403: a plugin in development, not allowed or not from here
	ProblemNotFound         ProblemCode = "not_found"              // 404: no such path, tool, run or approval
	ProblemMethod           ProblemCode = "method_not_allowed"     // 405: Allow says which are
	ProblemBodyTimeout      ProblemCode = "body_timeout"           // 408: the body did not arrive in time
	ProblemConflict         ProblemCode = "conflict"               // 409: the thing is not in a state for it, or not the session's
	ProblemBodyTooLarge     ProblemCode = "body_too_large"         // 413
	ProblemMediaType        ProblemCode = "unsupported_media_type" // 415: bodies are application/json
	ProblemInternal         ProblemCode = "internal_error"         // 500: ours
	ProblemBusy             ProblemCode = "busy"                   // 503: Retry-After says when
	ProblemShuttingDown     ProblemCode = "shutting_down"          // 503: Retry-After says when
)

// problemType is the namespace of Problem.Type.
const problemType = "urn:quoin:problem:"

// Problem is the body of every answer that is not a result: problem details as
// in RFC 9457, application/problem+json.
type Problem struct {
	Type   string       `json:"type"` // names Code as a URI
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Code   ProblemCode  `json:"code"`
	Detail string       `json:"detail"`           // what was wrong, and what was expected
	Reason string       `json:"reason,omitempty"` // of the host, in the words of results
	Errors []FieldError `json:"errors,omitempty"`

	allow string        // of method_not_allowed
	retry time.Duration // of busy and shutting_down
}

// FieldError is one thing that is wrong with a request.
type FieldError struct {
	Field    string `json:"field"` // a member of the body, a header, or a query parameter
	Detail   string `json:"detail"`
	Expected string `json:"expected"`
}

func (p *Problem) Error() string { return p.Detail }

// problem makes a Problem.
func problem(status int, code ProblemCode, format string, args ...any) *Problem {
	return &Problem{
		Type:   problemType + string(code),
		Title:  http.StatusText(status),
		Status: status,
		Code:   code,
		Detail: fmt.Sprintf(format, args...),
	}
}

// invalid makes the problem of a request with one wrong thing.
func invalid(field, detail, expected string) *Problem {
	p := problem(http.StatusBadRequest, ProblemInvalidRequest, "%s: %s; expected %s", field, detail, expected)
	p.Errors = []FieldError{{field, detail, expected}}
	return p
}

// busy makes the problem of a request for which there is no place now.
func (s *Server) busy(session Session, d *quota.Denied) *Problem {
	s.host.ReportDenied(session, d)
	p := problem(http.StatusServiceUnavailable, ProblemBusy, "%v: try again later", d)
	p.retry = time.Second
	return p
}

// write answers with the problem.
func (p *Problem) write(s *Server, w http.ResponseWriter) {
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
	s.writeJSON(w, p.Status, "application/problem+json", p)
}
