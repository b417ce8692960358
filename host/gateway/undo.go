package gateway

import (
	"context"
	"net/http"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/runstore"
)

// EffectList is the answer to GET /v1/effects.
type EffectList struct {
	// Runs are oldest first, without their effects.
	Runs []*runstore.Effects `json:"runs"`
}

// list answers with the runs that can be undone: the session's runs if a session is named,
// else the runs of all sessions.
func (h effectHandlers) list(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	list, err := h.host.Effects().List(r.Context())
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "the store of runs cannot be read: %v", err)
	}
	var out []*runstore.Effects
	for _, j := range list {
		if session == (Session{}) || session.Covers(j.Session) {
			out = append(out, j)
		}
	}
	return h.ok(w, EffectList{nonNil(out)})
}

// show answers with what the calls of a run have changed.
func (h effectHandlers) show(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	j, p := h.find(r.Context(), session, r.PathValue("run"))
	if p != nil {
		return p
	}
	return h.ok(w, j)
}

// undo undoes the effects of a run, even if the client goes away before it is done.
func (h effectHandlers) undo(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	id, skip := f.required("runId", "the id of a run that GET /v1/effects lists"), f.texts("skip")
	if p := f.problem(); p != nil {
		return p
	}
	ctx := context.WithoutCancel(r.Context())
	j, p := h.find(ctx, session, id)
	if p != nil {
		return p
	}
	j, err := h.host.Effects().Undo(ctx, j.Session, j.RunID, host.UndoOptions{Skip: skip})
	if err != nil {
		return problemFrom(err)
	}
	return h.ok(w, j)
}

// find returns the effects of a run that the caller may see: of its session if it
// names one, else of any.
func (h effectHandlers) find(ctx context.Context, session Session, id string) (*host.RunEffects, *Problem) {
	j, err := h.host.Effects().Get(ctx, id)
	if err != nil {
		return nil, problemFrom(err)
	}
	if session != (Session{}) && !session.Covers(j.Session) {
		// A caller must not learn whether another session has such a run.
		return nil, problem(http.StatusNotFound, ProblemNotFound, "there is no run %s of this session that can be undone; GET /v1/effects lists them", shown(id))
	}
	return j, nil
}
