package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/wire"
)

// replaying is a replay that runs. Each turn has as much time as it had when the run went on,
// and all of them together as much as a run has that uses up its CPU budget.
type replaying struct {
	worker  replayWorker
	turns   []loggedTurn
	turn    time.Duration // what one turn may take
	end     time.Time     // of all turns
	now     func() time.Time
	stopped func() error // says why no further turn is to run

	files   map[string]loggedFile // as the guest has read them until now
	unknown string                // a file that the log does not have
}

// replayWorker is a guestrt.Worker that has run nothing.
type replayWorker interface {
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

// errReplayLate says that a replayed program was stopped because its time was over, which
// says nothing of its path.
var errReplayLate = errors.New("the program did not get as far in time")

func newReplaying(w replayWorker, turns []loggedTurn, s codemode.Settings, grace time.Duration, stopped func() error) *replaying {
	return &replaying{
		worker: w, turns: turns, turn: s.Timeout, end: time.Now().Add(cpuShare*s.CPUBudget + grace), now: time.Now, stopped: stopped,
		files: map[string]loggedFile{},
	}
}

// run runs all turns of the log.
func (r *replaying) run(ctx context.Context) error {
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
func (r *replaying) deadline() time.Time {
	end := r.now().Add(r.turn)
	if end.After(r.end) {
		return r.end
	}
	return end
}

func (r *replaying) again(ctx context.Context, t *loggedTurn) (*wire.Report, error) {
	if t.cell == nil {
		return r.worker.ReplayTurn(ctx, t.in, t.trace, r.deadline())
	}
	t.cell.Limits.MaxOutputItems = wire.MaxOutputItems
	return r.worker.ReplayStart(ctx, *t.cell, t.trace, r.file, r.deadline())
}

// lateOr is errReplayLate for a worker that was stopped at a deadline, else err.
func lateOr(err error) error {
	var e *guestrt.WorkerError
	if errors.As(err, &e) && e.Code == wire.CodeTimeout {
		return errReplayLate
	}
	return err
}

// file serves a virtual file as the guest read it.
func (r *replaying) file(_ context.Context, path string) ([]byte, bool) {
	f, known := r.files[path]
	if !known {
		r.unknown = path
	}
	return f.data, f.found
}

// check says why a replay does not go on after a turn, if it does not.
func (r *replaying) check(rep *wire.Report, t *loggedTurn, turn int) error {
	if f := checkReport(rep); f != nil {
		return f
	}
	if rep.Status == wire.StatusFailed && rep.Err.Code == wire.CodeTimeout {
		return errReplayLate
	}
	if what := r.differs(rep, t); what != "" {
		return &divergedError{turn, what}
	}
	return nil
}

// differs says how a turn differs from the recorded one, or "".
func (r *replaying) differs(rep *wire.Report, t *loggedTurn) string {
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
