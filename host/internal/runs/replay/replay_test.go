package replay

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// manualClock is a clock that advances when it is told to.
type manualClock struct{ now time.Time }

func (c *manualClock) Now() time.Time { return c.now }

// slowGuest is a guest that computes for so long in each turn, and is stopped at the deadline.
type slowGuest struct {
	clock   *manualClock
	takes   time.Duration
	answers func() *wire.Report // of each turn
	turns   int
}

func (g *slowGuest) ReplayStart(_ context.Context, _ wire.Cell, _ []byte, _ guestrt.FileFunc, deadline time.Time) (*wire.Report, error) {
	return g.run(deadline)
}

func (g *slowGuest) ReplayTurn(_ context.Context, _ []wire.Settlement, _ []byte, deadline time.Time) (*wire.Report, error) {
	return g.run(deadline)
}

func (g *slowGuest) run(deadline time.Time) (*wire.Report, error) {
	g.clock.now = g.clock.now.Add(g.takes)
	if g.clock.now.After(deadline) {
		return nil, &guestrt.WorkerError{Code: wire.CodeTimeout, Phase: wire.PhaseGuest, Message: wire.TextTimeout}
	}
	g.turns++
	return g.answers(), nil
}

func idleReport() *wire.Report { return &wire.Report{Status: wire.StatusIdle} }

// replayed replays so many turns, in which a guest asked for nothing, and says why that failed.
func (g *slowGuest) replayed(s codemode.Settings, turns int) *codemode.Error {
	log := make([]Turn, turns)
	for i := range log {
		log[i].path = digestOf(idleReport())
	}
	log[0].Cell = &wire.Cell{}
	r := New(g, log, s.WithDefaults(), timing.Defaults.CPUGrace, func() error { return nil })
	r.now, g.clock.now = g.clock.Now, time.Now()
	r.end = g.clock.now.Add(CPUShare*s.WithDefaults().CPUBudget + timing.Defaults.CPUGrace)
	if err := r.Run(context.Background()); err != nil {
		return Failure(&runstore.Record{}, err)
	}
	return nil
}

// TestEachTurnOfAReplayHasItsTime: a run may compute in all its turns together for longer than
// one turn may take, and so may its replay. All turns together end by the CPU budget.
func TestEachTurnOfAReplayHasItsTime(t *testing.T) {
	t.Parallel()
	settings := codemode.Settings{Timeout: 10 * time.Second, CPUBudget: 20 * time.Second}
	for name, tc := range map[string]struct {
		takes     time.Duration
		turns, ok int // replayed, and of them in time
	}{
		"many turns in time":  {5 * time.Second, 12, 12},
		"a turn out of time":  {11 * time.Second, 3, 0},
		"beyond the budget":   {8 * time.Second, 100, 20},
		"one turn, near it":   {10 * time.Second, 1, 1},
		"many of the longest": {10 * time.Second, 16, 16},
	} {
		g := &slowGuest{clock: &manualClock{}, takes: tc.takes, answers: idleReport}
		f := g.replayed(settings, tc.turns)
		if g.turns != tc.ok || (f == nil) != (tc.turns == tc.ok) {
			t.Errorf("%s: %d turns in time, want %d; got %v", name, g.turns, tc.ok, f)
		}
		if f != nil && (f.Code != codemode.CodeUnavailable || f.Reason != "") {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}

// TestWhatAReplayIsStoppedFor: only another path is said to be one.
func TestWhatAReplayIsStoppedFor(t *testing.T) {
	t.Parallel()
	failed := func(code, reason string) *wire.Report {
		return &wire.Report{Status: wire.StatusFailed, Err: &wire.GuestError{Code: code, Reason: reason, Message: "no"}}
	}
	for name, tc := range map[string]struct {
		report *wire.Report
		code   codemode.Code
		reason codemode.Reason
	}{
		"the guest was out of time":      {failed(wire.CodeTimeout, ""), codemode.CodeUnavailable, ""},
		"a failure without an error":     {&wire.Report{Status: wire.StatusFailed}, codemode.CodeUnavailable, codemode.ReasonWorkerCrashed},
		"an end without a value":         {&wire.Report{Status: wire.StatusDone}, codemode.CodeUnavailable, codemode.ReasonWorkerCrashed},
		"an end":                         {&wire.Report{Status: wire.StatusDone, Value: []byte(`1`)}, codemode.CodeInvalidInput, codemode.ReasonReplayDiverged},
		"another failure":                {failed(wire.CodeInternal, ""), codemode.CodeInvalidInput, codemode.ReasonReplayDiverged},
		"other random values":            {failed(wire.CodeInternal, wire.ReasonReplayDiverged), codemode.CodeInvalidInput, codemode.ReasonReplayDiverged},
		"a call that was not made first": {&wire.Report{Status: wire.StatusIdle, Requests: []wire.Request{{ID: 1}}}, codemode.CodeInvalidInput, codemode.ReasonReplayDiverged},
	} {
		g := &slowGuest{clock: &manualClock{}, answers: func() *wire.Report { return tc.report }}
		if f := g.replayed(codemode.Settings{}, 1); f == nil || f.Code != tc.code || f.Reason != tc.reason {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}

// readingGuest asks for the same as it did, and reads a file.
type readingGuest struct{ path string }

func (g readingGuest) ReplayStart(ctx context.Context, _ wire.Cell, _ []byte, files guestrt.FileFunc, _ time.Time) (*wire.Report, error) {
	files(ctx, g.path)
	return idleReport(), nil
}

func (g readingGuest) ReplayTurn(context.Context, []wire.Settlement, []byte, time.Time) (*wire.Report, error) {
	return idleReport(), nil
}

// TestAReplayReadsTheSameFiles: one that reads another has taken another path, although it
// asks for the same.
func TestAReplayReadsTheSameFiles(t *testing.T) {
	t.Parallel()
	for path, same := range map[string]bool{"mcp/a.d.ts": true, "mcp/b.d.ts": false} {
		log := []Turn{{Cell: &wire.Cell{}, path: digestOf(idleReport()), files: []loggedFile{{path: "mcp/a.d.ts", found: true}}}}
		r := New(readingGuest{path}, log, codemode.Settings{}.WithDefaults(), timing.Defaults.CPUGrace, func() error { return nil })
		err := r.Run(t.Context())
		var diverged *divergedError
		if errors.As(err, &diverged) == same || same && err != nil {
			t.Errorf("a replay that reads %s, which the log has: %v; got %v", path, same, err)
		}
	}
}

// TestAStoppedReplayEnds between two turns, with the error that says why.
func TestAStoppedReplayEnds(t *testing.T) {
	t.Parallel()
	g := &slowGuest{clock: &manualClock{now: time.Now()}, answers: idleReport}
	r := New(g, []Turn{{Cell: &wire.Cell{}, path: digestOf(idleReport())}}, codemode.Settings{}.WithDefaults(), timing.Defaults.CPUGrace, func() error { return fault.ErrClosing })
	if err := r.Run(t.Context()); !errors.Is(err, fault.ErrClosing) || g.turns != 0 {
		t.Errorf("%d turns, %v", g.turns, err)
	}
}
