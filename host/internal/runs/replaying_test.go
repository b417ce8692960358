package runs

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/metrics"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// slowGuest is a guest that computes for so long in each turn, and is stopped at the deadline.
type slowGuest struct {
	clock   *stillClock
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
func (g *slowGuest) replayed(s codemode.Settings, turns int) *failure {
	log := make([]loggedTurn, turns)
	for i := range log {
		log[i].path = digestOf(idleReport())
	}
	log[0].cell = &wire.Cell{}
	r := newReplaying(g, log, s.WithDefaults(), DefaultTimes.CPUGrace, func() error { return nil })
	r.now, g.clock.now = g.clock.Now, time.Now()
	r.end = g.clock.now.Add(cpuShare*s.WithDefaults().CPUBudget + DefaultTimes.CPUGrace)
	if err := r.run(context.Background()); err != nil {
		return (&Engine{}).notReplayed(&runstore.Record{}, err)
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
		g := &slowGuest{clock: &stillClock{}, takes: tc.takes, answers: idleReport}
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
		g := &slowGuest{clock: &stillClock{}, answers: func() *wire.Report { return tc.report }}
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
		log := []loggedTurn{{cell: &wire.Cell{}, path: digestOf(idleReport()), files: []loggedFile{{path: "mcp/a.d.ts", found: true}}}}
		r := newReplaying(readingGuest{path}, log, codemode.Settings{}.WithDefaults(), DefaultTimes.CPUGrace, func() error { return nil })
		err := r.run(t.Context())
		var diverged *divergedError
		if errors.As(err, &diverged) == same || same && err != nil {
			t.Errorf("a replay that reads %s, which the log has: %v; got %v", path, same, err)
		}
	}
}

// TestAReplayEndsWithItsHost, or when its caller leaves, between two turns.
func TestAReplayEndsWithItsHost(t *testing.T) {
	t.Parallel()
	left, leave := context.WithCancel(t.Context())
	leave()
	for name, tc := range map[string]struct {
		closing bool
		ctx     context.Context
		want    error
	}{
		"the host closes":   {true, t.Context(), errClosing},
		"the caller leaves": {false, leavesTheRun(left), errReplayLate},
		"neither":           {false, leavesTheRun(t.Context()), nil},
	} {
		g := &slowGuest{clock: &stillClock{now: time.Now()}, answers: idleReport}
		e := &Engine{closing: tc.closing}
		r := newReplaying(g, []loggedTurn{{cell: &wire.Cell{}, path: digestOf(idleReport())}}, codemode.Settings{}.WithDefaults(), DefaultTimes.CPUGrace, e.replayStopped(tc.ctx))
		if err := r.run(t.Context()); !errors.Is(err, tc.want) || (g.turns == 0) != (tc.want != nil) {
			t.Errorf("%s: %d turns, %v", name, g.turns, err)
		}
	}
}

// TestTheWaitForASlotIsNoPartOfAReplay: a replay waits for a worker for as long as its caller.
func TestTheWaitForASlotIsNoPartOfAReplay(t *testing.T) {
	t.Parallel()
	clock := &stillClock{now: time.Now()}
	e := &Engine{clock: clock}
	s := codemode.Settings{Timeout: 10 * time.Second}
	for wait, want := range map[time.Duration]time.Duration{0: 10 * time.Second, time.Millisecond: time.Millisecond, time.Hour: time.Hour} {
		if got := e.slotPatience(t.Context(), s, wait).Sub(clock.now); got != want {
			t.Errorf("with a caller for %v it waits %v, want %v", wait, got, want)
		}
	}
}

// TestNoSlot: who waits for a slot waits no longer than the host and the caller are there.
func TestNoSlot(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	close(over)
	for name, tc := range map[string]struct {
		parking, leaves chan struct{}
		until           time.Duration
		want            error
	}{
		"the host shuts down": {over, nil, time.Hour, errClosing},
		"the caller leaves":   {nil, over, time.Hour, errBusy},
		"its time is over":    {nil, nil, 0, errBusy},
	} {
		e := &Engine{clock: realClock{}, parking: tc.parking, meters: newMeters(codemode.Quotas{}, 1, codemode.Settings{}.WithDefaults())}
		e.Logger, e.Observer = slog.New(slog.DiscardHandler), &observe.Observer{Metrics: metrics.New(metrics.State{})}
		session := codemode.Session{AgentID: "a"}
		<-e.meters.workers.Queue(quota.OwnerOf(session)).Ready()
		if _, err := e.awaitSlot(t.Context(), session, time.Now().Add(tc.until), tc.leaves); err != tc.want {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
		e.meters.workers.Give(quota.OwnerOf(session), 1)
		if _, err := e.awaitSlot(t.Context(), session, time.Now(), nil); err != nil || e.meters.workers.Used() != 1 {
			t.Errorf("%s: afterwards %v, %d in use", name, err, e.meters.workers.Used())
		}
	}
}
