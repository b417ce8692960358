package gateway

import (
	"context"
	"errors"
	"net/http"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/programs"
)

// ProgramList is the answer to GET /v1/programs.
type ProgramList struct {
	// Programs are the session's programs, by name, without their code.
	Programs []host.ProgramReview `json:"programs"`
}

// list answers with the saved programs of the session.
func (h programHandlers) list(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	list, err := h.host.Programs().List(r.Context(), session)
	if err != nil {
		return problemOfPrograms(err)
	}
	return h.ok(w, ProgramList{nonNil(list)})
}

// save saves the program of a completed run of the session.
func (h programHandlers) save(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	rq := programs.Request{
		RunID:       f.text("runId"),
		Name:        f.required("name", "a name such as weekly-report"),
		Description: f.text("description"),
		Input:       f.raw("input"),
		Example:     f.raw("example"),
		For:         programs.Audience(f.text("for")),
		Replace:     f.flag("replace"),
	}
	claim := f.text("by")
	if p := f.problem(); p != nil {
		return p
	}
	saved, err := h.host.Programs().Save(context.WithoutCancel(r.Context()), session, rq, h.decider(claim))
	if err != nil {
		return problemOfPrograms(err)
	}
	return h.ok(w, host.ProgramReview{Program: saved})
}

// show describes one saved program, with its code.
func (h programHandlers) show(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	p, err := h.host.Programs().Get(r.Context(), session, r.PathValue("name"))
	if err != nil {
		return problemOfPrograms(err)
	}
	return h.ok(w, p)
}

// run runs a saved program as exec runs a cell.
func (h programHandlers) run(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	input, call := f.raw("input"), f.text("toolCallId")
	in := host.ExecInput{Title: f.text("title"), Timeout: f.millis("timeoutMs"), Wait: h.waitOf(f)}
	if p := f.problem(); p != nil {
		return p
	}
	return h.ok(w, h.host.Programs().Run(host.WithToolCallID(r.Context(), call), session, r.PathValue("name"), input, in))
}

// remove forgets a saved program.
func (h programHandlers) remove(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	if err := h.host.Programs().Remove(context.WithoutCancel(r.Context()), session, r.PathValue("name"), programs.Audience(r.URL.Query().Get("for"))); err != nil {
		return problemOfPrograms(err)
	}
	return h.ok(w, removed{"removed"})
}

// removed is the answer to DELETE /v1/programs/{name}.
type removed struct {
	Status string `json:"status"` // removed
}

// accept takes the tools of this moment for those that a program ran with.
func (h programHandlers) accept(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	name, digest, claim := f.required("name", "the name of a saved program"), f.required("digest", "the digest that GET /v1/programs/{name} shows"), f.text("by")
	if p := f.problem(); p != nil {
		return p
	}
	review, err := h.host.Programs().Accept(context.WithoutCancel(r.Context()), session, name, digest, h.decider(claim))
	if err != nil {
		return problemOfPrograms(err)
	}
	return h.ok(w, review)
}

// problemOfPrograms makes the problem of an error about saved programs.
func problemOfPrograms(err error) *Problem {
	switch {
	case errors.Is(err, programs.NotFound):
		return problem(http.StatusNotFound, ProblemNotFound, "%v", err)
	case errors.Is(err, programs.Exists), errors.Is(err, programs.Full), errors.Is(err, programs.Changed):
		return problem(http.StatusConflict, ProblemConflict, "%v", err)
	case errors.Is(err, programs.Invalid):
		return problem(http.StatusBadRequest, ProblemInvalidRequest, "%v", err)
	}
	return problem(http.StatusInternalServerError, ProblemInternal, "the store of programs: %v", err)
}
