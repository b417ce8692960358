package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Replay is a replay that runs. Each turn has as much time as it had in the run itself, and
// all of them together have as much as a run that uses up its CPU budget.
type Replay struct {
	worker  Worker
	turns   []Turn
	turn    time.Duration // what one turn may take
	end     time.Time     // of all turns
	now     func() time.Time
	stopped func() error // says why no further turn is to run

	files   map[string]loggedFile // as the guest has read them until now
	unknown string                // a file that the log does not have
}

// Worker is a guestrt.Worker that has run nothing.
type Worker interface {
	ReplayStart(ctx context.Context, c wire.Cell, trace []byte, files guestrt.FileFunc, deadline time.Time) (*wire.Report, error)
	ReplayTurn(ctx context.Context, in []wire.Settlement, trace []byte, deadline time.Time) (*wire.Report, error)
}

// divergedError says that a replayed program took another path.
type divergedError struct {
	turn int // from 1
	what string
}

func (e *divergedError) Error() string {
	return fmt.Sprintf("in turn %d it %s", e.turn, e.what)
}

// ErrLate says that a replayed program was stopped because its time was over, which
// says nothing of its path.
var ErrLate = errors.New("the program did not get as far in time")

func New(w Worker, turns []Turn, s codemode.Settings, grace time.Duration, stopped func() error) *Replay {
	return &Replay{
		worker: w, turns: turns, turn: s.Timeout, end: time.Now().Add(CPUShare*s.CPUBudget + grace), now: time.Now, stopped: stopped,
		files: map[string]loggedFile{},
	}
}

// Run runs all turns of the log.
func (r *Replay) Run(ctx context.Context) error {
	for i := range r.turns {
		if err := r.stopped(); err != nil {
			return err
		}
		t := &r.turns[i]
		for _, f := range t.files {
			r.files[f.path] = f
		}
		rep, err := r.again(ctx, t)
		if err != nil {
			return lateOr(err)
		}
		if err := r.check(rep, t, i+1); err != nil {
			return err
		}
	}
	return nil
}

// deadline is when a turn that starts now must end.
func (r *Replay) deadline() time.Time {
	end := r.now().Add(r.turn)
	if end.After(r.end) {
		return r.end
	}
	return end
}

func (r *Replay) again(ctx context.Context, t *Turn) (*wire.Report, error) {
	if t.Cell == nil {
		return r.worker.ReplayTurn(ctx, t.in, t.trace, r.deadline())
	}
	t.Cell.Limits.MaxOutputItems = wire.MaxOutputItems
	return r.worker.ReplayStart(ctx, *t.Cell, t.trace, r.file, r.deadline())
}

// lateOr is ErrLate for a worker that was stopped at a deadline, else err.
func lateOr(err error) error {
	var e *guestrt.WorkerError
	if errors.As(err, &e) && e.Code == wire.CodeTimeout {
		return ErrLate
	}
	return err
}

// File serves a virtual File as the guest read it.
func (r *Replay) file(_ context.Context, path string) ([]byte, bool) {
	f, known := r.files[path]
	if !known {
		r.unknown = path
	}
	return f.data, f.found
}

// check says why a replay does not continue after a turn, if it does not.
func (r *Replay) check(rep *wire.Report, t *Turn, turn int) error {
	if f := CheckReport(rep); f != nil {
		return f
	}
	if rep.Status == wire.StatusFailed && rep.Err.Code == wire.CodeTimeout {
		return ErrLate
	}
	if what := r.differs(rep, t); what != "" {
		return &divergedError{turn, what}
	}
	return nil
}

// differs says how a turn differs from the recorded one, or "".
func (r *Replay) differs(rep *wire.Report, t *Turn) string {
	switch {
	case rep.Status == wire.StatusFailed && rep.Err.Reason == wire.ReasonReplayDiverged:
		return "drew other random values"
	case rep.Status == wire.StatusFailed:
		return "failed: " + rep.Err.Message
	case rep.Status == wire.StatusDone:
		return "ended"
	case r.unknown != "":
		return "read another file, " + r.unknown
	case digestOf(rep) != t.path:
		return "asked for something else, or emitted something else"
	}
	return ""
}

// Failure says why a replay has made no image. The run is kept.
func Failure(rec *runstore.Record, err error) *codemode.Error {
	var (
		own      *codemode.Error
		diverged *divergedError
	)
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, fault.ErrClosing):
		return fault.Closing()
	case errors.Is(err, ErrLate):
		return codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost,
			"code mode run cannot be restored now: another build of the guest suspended it (%s), and run again on this one %v. "+
				"Nothing was called. The run is kept until %s: wait for it again when this host has less to do.",
			ShortBuild(rec.GuestBuild), err, rec.Expires.UTC().Format(fault.TimeLayout))
	case !errors.As(err, &diverged):
		return fault.FromWorker(err)
	}
	return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonReplayDiverged, codemode.PhaseHost,
		"code mode run cannot be restored: another build of the guest suspended it (%s), and run again on this one the program took another path: %v. "+
			"Nothing was called. The run is kept until %s: a host that has that build, as its guest or in guest.builds, can go on with it.",
		ShortBuild(rec.GuestBuild), err, rec.Expires.UTC().Format(fault.TimeLayout))
}

// ShortBuild is the start of a build's id, as messages have it.
func ShortBuild(build string) string { return fmt.Sprintf("%.12s", build) }

// CPUShare is how much longer than its CPU budget a turn may take: a machine that
// does more than one thing gives it a part of a processor.
const CPUShare = 8

// CheckReport refuses a report that no guest can have made.
func CheckReport(rep *wire.Report) *codemode.Error {
	if rep.Status == wire.StatusDone && !validJSON(rep.Value) || rep.Status == wire.StatusFailed && rep.Err == nil {
		return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost, "guest worker sent a result that is not one")
	}
	return nil
}

func validJSON(b []byte) bool { return len(b) > 0 && json.Valid(b) }

// Possible reports whether the run of a record can be replayed.
func Possible(rec *runstore.Record) bool {
	return len(rec.Replay) > 0 && rec.NoReplay == "" && !rec.Live
}

// WhyNot says why the run of a record cannot be replayed.
func WhyNot(rec *runstore.Record) string {
	switch {
	case rec.Live:
		return "it has no image"
	case rec.NoReplay != "":
		return rec.NoReplay
	}
	return LostNoTrace
}
