package gateway

import (
	"context"
	"net/http"

	"github.com/quoinhq/quoin/host"
)

// RunList is the answer to GET /v1/runs.
type RunList struct {
	Runs []host.RunInfo `json:"runs"`
}

// runs lists what has not ended, of the session if one is named, else of all: with it,
// a client that lost its runIds finds them again.
func (s *Server) runs(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	list, err := s.host.AllRuns(r.Context())
	if session != (Session{}) {
		list, err = s.host.Runs(r.Context(), session)
	}
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "the store of runs cannot be read: %v", err)
	}
	for i := range list {
		list[i].PendingToolCalls = some(list[i].PendingToolCalls)
	}
	return s.ok(w, RunList{some(list)})
}

// run describes one run.
func (s *Server) run(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	info, p := s.runOf(r.Context(), session, r.PathValue("run"))
	if p != nil {
		return p
	}
	return s.ok(w, info)
}

// endRun aborts one run. Its client may go away: the run ends.
func (s *Server) endRun(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	ctx := context.WithoutCancel(r.Context())
	info, p := s.runOf(ctx, session, r.PathValue("run"))
	if p != nil {
		return p
	}
	return s.ok(w, s.host.Abort(ctx, info.Session, info.ID))
}

// runOf returns a run that the caller may see: one of its session if it names one.
func (s *Server) runOf(ctx context.Context, session Session, id string) (host.RunInfo, *Problem) {
	info, err := s.host.Run(ctx, id)
	if err != nil {
		return info, refused(err)
	}
	owner := info.Session
	if session.TurnID == "" {
		owner.TurnID = ""
	}
	if session != (Session{}) && session != owner {
		// One answer for both: whether another session has such a run is its own affair.
		return info, problem(http.StatusNotFound, ProblemNotFound, "there is no run %s of this session; GET /v1/runs lists them", shown(id))
	}
	info.PendingToolCalls = some(info.PendingToolCalls)
	return info, nil
}
