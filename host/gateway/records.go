package gateway

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quoinhq/quoin/host/trajectory"
)

// Trajectory is the answer to GET /v1/trajectory/{run}.
type Trajectory struct {
	RunID   string             `json:"runId"`
	Session trajectory.Session `json:"session"`
	Events  []trajectory.Event `json:"events"`
	// Torn says why the events end before the record does.
	Torn string `json:"torn,omitempty"`
}

// TrajectoryList is the answer to GET /v1/trajectory.
type TrajectoryList struct {
	Runs []trajectory.Summary `json:"runs"`
}

func recorded(s Session) trajectory.Session {
	return trajectory.Session{AgentID: s.AgentID, SessionKey: s.SessionKey, SessionID: s.SessionID, TurnID: s.TurnID}
}

func (s *Server) trajectory(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	id := r.PathValue("run")
	if s.Trajectory == nil {
		return problem(http.StatusNotFound, ProblemNotFound, "this server records no trajectories")
	}
	run, err := s.Trajectory.Read(recorded(session), id)
	switch {
	case errors.Is(err, trajectory.ErrUnknownRun), errors.Is(err, trajectory.ErrWrongSession):
		// One answer for both: whether another session has such a run is its own affair.
		return problem(http.StatusNotFound, ProblemNotFound, "there is no trajectory of run %s for this session", shown(id))
	case err != nil:
		return problem(http.StatusInternalServerError, ProblemInternal, "the trajectory cannot be read: %v", err)
	}
	t := Trajectory{RunID: run.ID, Session: run.Session, Events: some(run.Events)}
	if run.Torn != nil {
		t.Torn = run.Torn.Error()
	}
	return s.ok(w, t)
}

func (s *Server) trajectories(w http.ResponseWriter, _ *http.Request, session Session) *Problem {
	if s.Trajectory == nil {
		return s.ok(w, TrajectoryList{[]trajectory.Summary{}})
	}
	list, err := s.Trajectory.List(recorded(session))
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "trajectories cannot be read: %v", err)
	}
	return s.ok(w, TrajectoryList{some(list)})
}

// processMetrics are those of the Go runtime and of this process. They are not the
// host's: a process may have several hosts.
var processMetrics = sync.OnceValue(func() prometheus.Gatherer {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
})

// metrics is for Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request, _ Session) *Problem {
	setWriteDeadline(w, time.Now().Add(s.WriteTimeout))
	all := prometheus.Gatherers{s.host.Metrics(), processMetrics()}
	promhttp.HandlerFor(all, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
	return nil
}
