package gateway

import (
	"context"
	"net/http"

	"github.com/quoinhq/quoin/host/codemode"
)

// RunList is the answer to GET /v1/runs.
type RunList struct {
	// Runs are oldest first. A run that has ended is not among them.
	Runs []codemode.RunInfo `json:"runs"`
}

// list answers with the runs that have not ended: the session's runs if a session is named, else
// the runs of all sessions. A client that lost a runId finds it here.
func (h runHandlers) list(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	list, err := h.host.Runs().All(r.Context())
	if session != (Session{}) {
		list, err = h.host.Runs().List(r.Context(), session)
	}
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "the store of runs cannot be read: %v", err)
	}
	for i := range list {
		list[i].PendingToolCalls = nonNil(list[i].PendingToolCalls)
	}
	return h.ok(w, RunList{nonNil(list)})
}

// show describes one run.
func (h runHandlers) show(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	info, p := h.find(r.Context(), session, r.PathValue("run"))
	if p != nil {
		return p
	}
	return h.ok(w, info)
}

// end aborts one run, even if the client goes away before the run has ended.
func (h runHandlers) end(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	ctx := context.WithoutCancel(r.Context())
	info, p := h.find(ctx, session, r.PathValue("run"))
	if p != nil {
		return p
	}
	return h.ok(w, h.host.Abort(ctx, info.Session, info.ID))
}

// find returns a run that the caller may see: one of its session if it names one,
// else any.
func (h runHandlers) find(ctx context.Context, session Session, id string) (codemode.RunInfo, *Problem) {
	info, err := h.host.Runs().Get(ctx, id)
	if err != nil {
		return info, problemFrom(err)
	}
	owner := info.Session
	if session.TurnID == "" {
		owner.TurnID = ""
	}
	if session != (Session{}) && session != owner {
		// A caller must not learn whether another session has such a run.
		return info, problem(http.StatusNotFound, ProblemNotFound, "there is no run %s of this session; GET /v1/runs lists them", shown(id))
	}
	info.PendingToolCalls = nonNil(info.PendingToolCalls)
	return info, nil
}
