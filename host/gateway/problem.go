package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
)

// ProblemCode classifies a request that was refused. The list is append-only.
type ProblemCode string

// The codes of problems, with the HTTP status each comes with.
const (
	ProblemInvalidRequest   ProblemCode = "invalid_request"        // 400: body, header, path or query
	ProblemUnauthorized     ProblemCode = "unauthorized"           // 401: no token, or a wrong one
	ProblemForbiddenAddress ProblemCode = "forbidden_address"      // 403: beyond loopback without a token
	ProblemForbiddenHost    ProblemCode = "forbidden_host"         // 403: addressed to a name that is not the server's
	ProblemCrossOrigin      ProblemCode = "cross_origin"           // 403: a web page of another origin
	ProblemDevelopment      ProblemCode = "development_refused"    // 403: a plugin in development, not allowed or not from here
	ProblemNotFound         ProblemCode = "not_found"              // 404: no such path, tool, run or approval
	ProblemMethod           ProblemCode = "method_not_allowed"     // 405: Allow says which are
	ProblemBodyTimeout      ProblemCode = "body_timeout"           // 408: the body did not arrive in time
	ProblemConflict         ProblemCode = "conflict"               // 409: the thing is not in a state for it, or not the session's
	ProblemBodyTooLarge     ProblemCode = "body_too_large"         // 413: more than server.maxBodyBytes
	ProblemMediaType        ProblemCode = "unsupported_media_type" // 415: bodies are application/json
	ProblemInternal         ProblemCode = "internal_error"         // 500: a fault of the server
	ProblemBusy             ProblemCode = "busy"                   // 503: Retry-After says when
	ProblemStore            ProblemCode = "store_unavailable"      // 503: Retry-After says when
	ProblemShuttingDown     ProblemCode = "shutting_down"          // 503: Retry-After says when
)

// problemType is the namespace of Problem.Type.
const problemType = "urn:quoin:problem:"

// Problem is the body of every answer that is not a result. It is a problem details
// object as in RFC 9457, application/problem+json. The client returns it as an error.
type Problem struct {
	Type string `json:"type"` // names Code as a URI
	// Title is the text of the HTTP status. It is for people.
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Code   ProblemCode `json:"code"`
	Detail string      `json:"detail"`           // what was wrong, and what was expected
	Reason string      `json:"reason,omitempty"` // of the host, in the words of results
	// Errors are all mistakes that were found, at most 16. Detail names the first.
	Errors []FieldError `json:"errors,omitempty"`

	allow string        // of method_not_allowed
	retry time.Duration // of busy, store_unavailable and shutting_down
}

// FieldError is one thing that is wrong with a request.
type FieldError struct {
	Field    string `json:"field"` // a member of the body, a header, or a query parameter
	Detail   string `json:"detail"`
	Expected string `json:"expected"`
}

// Error implements error. It returns Detail.
func (p *Problem) Error() string { return p.Detail }

// problem makes a Problem with a detail in the form of fmt.Sprintf.
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

// shuttingDown makes the problem of a request that comes too late.
func shuttingDown() *Problem {
	p := problem(http.StatusServiceUnavailable, ProblemShuttingDown, "the server is shutting down")
	p.retry = 5 * time.Second
	return p
}

// problemFrom makes the problem of an error of the host.
func problemFrom(err error) *Problem {
	var e *host.Error
	if !errors.As(err, &e) {
		return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
	}
	var p *Problem
	switch {
	case e.Reason == codemode.ReasonEngineUnavailable:
		p = problem(http.StatusConflict, ProblemConflict, "%s", e.Message)
	case e.Code == codemode.CodeUnavailable:
		p = shuttingDown()
	case e.Reason == codemode.ReasonRunUnavailable, e.Reason == codemode.ReasonRunExpired:
		p = problem(http.StatusNotFound, ProblemNotFound, "%s", e.Message)
	case e.Reason == codemode.ReasonWrongSession, e.Reason == codemode.ReasonWrongRun, e.Reason == codemode.ReasonRunBusy, e.Reason == codemode.ReasonToolsMissing, e.Code == codemode.CodeAborted:
		p = problem(http.StatusConflict, ProblemConflict, "%s", e.Message)
	case e.Code == codemode.CodeInvalidInput:
		p = problem(http.StatusBadRequest, ProblemInvalidRequest, "%s", e.Message)
	default:
		p = problem(http.StatusInternalServerError, ProblemInternal, "%s", e.Message)
	}
	p.Reason = string(e.Reason)
	return p
}
