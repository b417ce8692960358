package drive

import (
	"context"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
)

// stillClock is a clock that advances when it is told to.
type stillClock struct {
	run.RealClock
	now time.Time
}

func (c *stillClock) Now() time.Time                  { return c.now }
func (c *stillClock) Until(t time.Time) time.Duration { return t.Sub(c.now) }

// timedRun is a run that has a clock and nothing else.
func timedRun(c run.Clock) *Run {
	env := &run.Env{Clock: c, Config: run.Config{Times: timing.Defaults}}
	base := &run.Run{Env: env, Settings: codemode.Settings{}.WithDefaults()}
	return &Run{Run: &pipeline.Run{Run: base, Env: &pipeline.Env{Env: env}}, env: &Env{Env: &pipeline.Env{Env: env}}}
}

// TestPatience: a driver waits until its caller's time is over, or the caller is to hear of
// a question.
func TestPatience(t *testing.T) {
	t.Parallel()
	clock := &stillClock{now: time.Now()}
	d := &caller{run: timedRun(clock), started: time.Now()}
	d.limit(context.Background(), time.Second, time.Hour)
	table := calls.New("", 1, nil, &timing.Defaults, calls.Account{})
	p := d.patience(table.Status().TellBy)
	defer p.timer.Stop()
	over := func(after time.Duration, want bool) {
		t.Helper()
		clock.now = clock.now.Add(after)
		if got := p.over(table.Status().TellBy); got != want {
			t.Errorf("over is %v, want %v", got, want)
		}
	}
	over(20*time.Minute, false)
	table.Questions.ApprovalStarts(clock.now)
	over(timing.Defaults.QuestionGrace-time.Second, false)
	table.Questions.ApprovalStarts(clock.now) // a second question does not put off the first
	over(time.Second, true)
	table.Questions.Told()
	over(time.Minute, false) // the caller knows of both
	table.Questions.ApprovalStarts(clock.now)
	over(timing.Defaults.QuestionGrace, true)
	for range 3 {
		table.Questions.ApprovalEnds(clock.now)
	}
	over(0, false) // they were answered
	over(time.Hour, true)
}

// TestTheDeadlineOfAContext bounds the time of a caller, with time left for the answer.
func TestTheDeadlineOfAContext(t *testing.T) {
	t.Parallel()
	clock := &stillClock{now: time.Now()}
	for _, c := range []struct{ left, least, most time.Duration }{
		{time.Hour, 30 * time.Minute, 30 * time.Minute},
		{10 * time.Minute, 9*time.Minute + 50*time.Second, 10*time.Minute - timing.Defaults.AnswerMargin},
		{time.Second, 0, 900 * time.Millisecond},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), c.left)
		d := &caller{run: timedRun(clock), started: time.Now()}
		d.limit(ctx, time.Second, 30*time.Minute)
		cancel()
		if got := d.deadline.Sub(clock.now); got < c.least-time.Second || got > c.most {
			t.Errorf("of a context with %v left the driver waits %v, want %v to %v", c.left, got, c.least, c.most)
		}
	}
}
