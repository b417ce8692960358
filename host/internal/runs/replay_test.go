package runs

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/metrics"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

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
		"the host closes":   {true, t.Context(), fault.ErrClosing},
		"the caller leaves": {false, run.LeavesTheRun(left), replay.ErrLate},
		"neither":           {false, run.LeavesTheRun(t.Context()), nil},
	} {
		e := &reviver{registry: &registry{closing: tc.closing}}
		if err := e.replayStopped(tc.ctx)(); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTheWaitForASlotIsNoPartOfAReplay: a replay waits for a worker for as long as its caller.
func TestTheWaitForASlotIsNoPartOfAReplay(t *testing.T) {
	t.Parallel()
	clock := &fixedClock{now: time.Now()}
	e := &reviver{Env: drive.NewEnv(&run.Env{Clock: clock, Life: t.Context()})}
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
		"the host shuts down": {over, nil, time.Hour, fault.ErrClosing},
		"the caller leaves":   {nil, over, time.Hour, drive.ErrBusy},
		"its time is over":    {nil, nil, 0, drive.ErrBusy},
	} {
		e := drive.NewEnv(&run.Env{Clock: run.RealClock{}, Life: t.Context(), Meters: run.NewMeters(codemode.Quotas{}, 1, codemode.Settings{}.WithDefaults())})
		e.Parking = tc.parking
		e.Logger, e.Observer = slog.New(slog.DiscardHandler), &observe.Observer{Metrics: metrics.New(metrics.State{})}
		session := codemode.Session{AgentID: "a"}
		<-e.Meters.Workers.Queue(quota.OwnerOf(session)).Ready()
		if _, err := e.AwaitSlot(t.Context(), session, time.Now().Add(tc.until), tc.leaves); err != tc.want {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
		e.Meters.Workers.Give(quota.OwnerOf(session), 1)
		if _, err := e.AwaitSlot(t.Context(), session, time.Now(), nil); err != nil || e.Meters.Workers.Used() != 1 {
			t.Errorf("%s: afterwards %v, %d in use", name, err, e.Meters.Workers.Used())
		}
	}
}

// fixedClock is a clock that stands still.
type fixedClock struct {
	run.RealClock
	now time.Time
}

func (c *fixedClock) Now() time.Time { return c.now }
