package gateway

import (
	"errors"
	"net/http"

	"github.com/quoinhq/quoin/host/trajectory"
)

// Trajectory is the answer to GET /v1/trajectory/{run}.
type Trajectory struct {
	// RunID is the id of the run, and Session the session that started it.
	RunID   string  `json:"runId"`
	Session Session `json:"session"`
	// Events are in the order in which they happened. They hold programs, inputs
	// and outputs only if the host records bodies, and then redacted.
	Events []trajectory.Event `json:"events"`
	// Torn says why the events end before the record does.
	Torn string `json:"torn,omitempty"`
}

// TrajectoryList is the answer to GET /v1/trajectory.
type TrajectoryList struct {
	// Runs are newest first.
	Runs []trajectory.Summary `json:"runs"`
}

// show returns the record of one run of the session.
func (h trajectoryHandlers) show(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	id := r.PathValue("run")
	if h.options.Trajectory == nil {
		return problem(http.StatusNotFound, ProblemNotFound, "this server records no trajectories")
	}
	run, err := h.options.Trajectory.Read(session, id)
	switch {
	case errors.Is(err, trajectory.ErrUnknownRun), errors.Is(err, trajectory.ErrWrongSession):
		// A caller must not learn whether another session has such a run.
		return problem(http.StatusNotFound, ProblemNotFound, "there is no trajectory of run %s for this session", shown(id))
	case err != nil:
		return problem(http.StatusInternalServerError, ProblemInternal, "the trajectory cannot be read: %v", err)
	}
	t := Trajectory{RunID: run.ID, Session: run.Session, Events: nonNil(run.Events)}
	if run.Torn != nil {
		t.Torn = run.Torn.Error()
	}
	return h.ok(w, t)
}

// list answers with the session's runs that have a record.
func (h trajectoryHandlers) list(w http.ResponseWriter, _ *http.Request, session Session) *Problem {
	if h.options.Trajectory == nil {
		return h.ok(w, TrajectoryList{[]trajectory.Summary{}})
	}
	list, err := h.options.Trajectory.List(session)
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "trajectories cannot be read: %v", err)
	}
	return h.ok(w, TrajectoryList{nonNil(list)})
}
