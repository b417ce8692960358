package gateway

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/quoinhq/quoin/host"
)

// Answered is the answer to POST /v1/answers.
type Answered struct {
	Status string `json:"status"` // answered
}

// answerCall takes the caller's answer to a call of one of its own tools.
func (s *Server) answerCall(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	f, p := s.body(w, r)
	if p != nil {
		return p
	}
	run := f.required("runId", "the runId of a waiting result")
	call := f.required("callId", "the id of a pending call that has an input")
	a := host.ToolAnswer{Value: f.raw("value"), Error: f.text("error")}
	if a.Value != nil && f.raw("error") != nil {
		f.fail("error", "both it and value are given", "one of them")
	}
	if f.raw("error") != nil && a.Error == "" {
		f.fail("error", "it is empty", "what went wrong")
	}
	if p := f.problem(); p != nil {
		return p
	}
	if a.Value == nil {
		a.Value = json.RawMessage("null")
	}
	if err := s.host.Answer(r.Context(), session, run, call, a); err != nil {
		return refused(err)
	}
	return s.ok(w, Answered{"answered"})
}

// PendingInput is the answer to GET /v1/calls/{id}.
type PendingInput struct {
	ID    string          `json:"id"`
	Input json.RawMessage `json:"input"`
}

// pendingInput tells the input of a call that the caller is to answer.
func (s *Server) pendingInput(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	id := r.PathValue("id")
	input, err := s.host.PendingInput(r.Context(), session, r.URL.Query().Get("run"), id)
	if err != nil {
		return refused(err)
	}
	return s.ok(w, PendingInput{id, input})
}

// refused is the problem of what the host refuses without a Result.
func refused(err error) *Problem {
	var e *host.Error
	if !errors.As(err, &e) {
		return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
	}
	var p *Problem
	switch {
	case e.Code == host.CodeUnavailable:
		p = shuttingDown()
	case e.Reason == host.ReasonRunUnavailable, e.Reason == host.ReasonRunExpired:
		p = problem(http.StatusNotFound, ProblemNotFound, "%s", e.Message)
	case e.Reason == host.ReasonWrongSession, e.Reason == host.ReasonWrongRun, e.Reason == host.ReasonRunBusy, e.Reason == host.ReasonToolsMissing, e.Code == host.CodeAborted:
		p = problem(http.StatusConflict, ProblemConflict, "%s", e.Message)
	case e.Code == host.CodeInvalidInput:
		p = problem(http.StatusBadRequest, ProblemInvalidRequest, "%s", e.Message)
	default:
		p = problem(http.StatusInternalServerError, ProblemInternal, "%s", e.Message)
	}
	p.Reason = string(e.Reason)
	return p
}
