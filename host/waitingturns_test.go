package host_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/policy"
)

// TestALongToolTakesFewTurns: a model whose program waits 24 minutes for a tool comes back
// twice at the most, and has the result in the moment in which the tool has ended.
func TestALongToolTakesFewTurns(t *testing.T) {
	t.Parallel()
	const took = 24 * time.Minute
	for name, test := range map[string]struct {
		first time.Duration // how long the caller waits for exec
		turns int
	}{
		"in process":                        {0, 2},
		"a client that gives up after 60 s": {45 * time.Second, 3},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newSkippingClock()
			build := catalog.Tool{Name: "build", Description: "Takes 24 minutes.", Invoke: func(ctx context.Context, _ catalog.Invocation) (json.RawMessage, error) {
				timer := clock.NewTimer(took)
				defer timer.Stop()
				select {
				case <-timer.C():
					return json.RawMessage(`"built"`), nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}}
			h := start(t, host.Config{Tools: []catalog.Tool{build}})
			h.Engine().SetClock(clock)
			began := clock.Now()
			r := clock.pass(func() *host.Result {
				return h.Exec(t.Context(), me, host.ExecInput{Code: `return await tools.build({})`, Wait: test.first})
			})
			turns := 1
			for ; r.Status == host.StatusWaiting; turns++ {
				if r.Reason != host.ReasonPendingTools || r.RetryAfter <= 0 || r.RetryAfter > 5*time.Minute {
					t.Errorf("turn %d: %s", turns, show(r))
				}
				r = clock.pass(func() *host.Result { return h.Wait(t.Context(), me, r.RunID) })
			}
			wantValue(t, r, `"built"`)
			if passed := clock.Now().Sub(began); turns != test.turns || passed != took {
				t.Errorf("%d turns and %v, want %d and %v", turns, passed, test.turns, took)
			}
		})
	}
}

// TestAQuestionIsToldOnce: exec returns when people have been asked for a while, and the
// wait after it takes as long as they do.
func TestAQuestionIsToldOnce(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, desk.config([]catalog.Tool{echo("echo")}, asks(policy.ApprovalRequest{Timeout: time.Hour}, "echo")))
	clock := newSkippingClock()
	clock.within = 10 * time.Second
	h.Engine().SetClock(clock)
	began := clock.Now()
	r := clock.pass(func() *host.Result { return exec(h, `return (await tools.echo({n: 1})).n`) })
	id := wantWaiting(t, r, host.ReasonApproval)
	if passed := clock.Now().Sub(began); passed != 10*time.Second {
		t.Errorf("the caller heard after %v", passed)
	}
	told := clock.Now()
	clock.within = 10 * time.Minute
	wantWaiting(t, clock.pass(func() *host.Result { return h.WaitFor(t.Context(), me, id, 10*time.Minute) }), host.ReasonApproval)
	if passed := clock.Now().Sub(told); passed < 9*time.Minute {
		t.Errorf("a wait for a question that the caller knows took %v", passed)
	}
	decide(t, h, (<-desk.asked).ID, policy.AllowOnce)
	wantValue(t, h.Wait(t.Context(), me, id), `1`)
}

// skippingClock is a clock on which time passes when everything waits for it: it is then
// what the next timer waits for.
type skippingClock struct {
	within  time.Duration // a timer that is due within this time is not waited for in company
	changed chan struct{} // capacity 1: a timer was set

	mu     sync.Mutex
	now    time.Time
	timers []*skippedTimer
}

func newSkippingClock() *skippingClock {
	return &skippingClock{now: time.Now(), changed: make(chan struct{}, 1)}
}

// skippedTimer is a timer of a skippingClock.
type skippedTimer struct {
	clock *skippingClock
	c     chan time.Time
	due   time.Time
}

func (c *skippingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *skippingClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

func (c *skippingClock) NewTimer(d time.Duration) run.Timer {
	t := &skippedTimer{clock: c, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

func (t *skippedTimer) C() <-chan time.Time { return t.c }

func (t *skippedTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	was := t.drop()
	t.due = t.clock.now.Add(d)
	t.clock.timers = append(t.clock.timers, t)
	select {
	case t.clock.changed <- struct{}{}:
	default:
	}
	return was
}

func (t *skippedTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.drop()
}

// drop takes the timer from its clock, whose lock the caller holds.
func (t *skippedTimer) drop() (active bool) {
	i := slices.Index(t.clock.timers, t)
	if i >= 0 {
		t.clock.timers = slices.Delete(t.clock.timers, i, i+1)
	}
	return i >= 0
}

// pass lets time pass until f returns.
func (c *skippingClock) pass(f func() *host.Result) *host.Result {
	done := make(chan *host.Result, 1)
	go func() { done <- f() }()
	for {
		select {
		case r := <-done:
			return r
		case <-c.changed:
			c.skip()
		}
	}
}

// skip goes on to the timer that is due first, once the driver and the tool have set theirs.
func (c *skippingClock) skip() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) == 0 {
		return
	}
	first := slices.MinFunc(c.timers, func(a, b *skippedTimer) int { return a.due.Compare(b.due) })
	if len(c.timers) > 1 || first.due.Sub(c.now) <= c.within {
		c.now = first.due
		first.drop()
		first.c <- c.now
	}
}
