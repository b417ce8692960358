package drive

import (
	"context"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// A run has two kinds of time. The time in which the guest computes is the operator's to
// bound: for one turn, and for the whole run. The time in which the guest waits for calls
// is the caller's: when it is over, the run is suspended and nothing is lost.

// turnDeadline is when a turn that starts now must end: after the time that the guest may
// compute in one go, or when it must have used up the run's CPU budget.
func (g *guest) turnDeadline() time.Time {
	g.ran = true
	g.run.TurnEnds = time.Now().Add(min(g.compute, replay.CPUShare*g.cpuLeft()+g.run.env.Times.CPUGrace))
	return g.run.TurnEnds
}

// cpuLeft is what is left of the run's CPU budget. Searches in the host count too. The
// driver alone changes what it reads.
func (c *caller) cpuLeft() time.Duration {
	return max(0, c.run.Settings.CPUBudget-c.run.Calls.Costs.Computed())
}

// overBudget is the failure of a run that has used up its CPU budget, or f.
func (c *caller) overBudget(f *codemode.Error) *codemode.Error {
	if c.cpuLeft() > 0 || f != nil && f.Code != codemode.CodeTimeout {
		return f
	}
	return codemode.Errorf(codemode.CodeTimeout, "", codemode.PhaseGuest, "code mode CPU budget exceeded: the run has used %s of processor time, waits and searches included (tools.codeMode.cpuBudgetMs).", c.run.Settings.CPUBudget)
}

// limit sets the context of one Exec or Wait, how long the guest may compute in one turn,
// and how long the caller waits from the start on.
func (c *caller) limit(ctx context.Context, compute, wait time.Duration) {
	c.ctx, c.callerAsks, c.compute = ctx, run.CallerAsks(ctx), compute
	_, c.leaves = run.CallerOf(ctx)
	c.deadline = c.run.env.Clock.Now().Add(time.Until(c.run.env.CallerGoes(ctx, c.started, wait)))
}

// CallerGoes is when the time is over of a caller that has come at start and waits for so
// long.
func (e *Env) CallerGoes(ctx context.Context, start time.Time, wait time.Duration) time.Time {
	caller, _ := run.CallerOf(ctx)
	if end, ok := caller.Deadline(); ok {
		left := end.Sub(start)
		wait = min(wait, left-min(left/answerShare, e.Times.AnswerMargin))
	}
	return start.Add(wait)
}

// answerShare is how much earlier a caller with a deadline in its context gets its result: a
// tenth of the time, but at most Times.AnswerMargin.
const answerShare = 10

// patience is how long a driver waits for calls on behalf of its caller: until the
// caller's time is over, or it is to hear of a call that waits for an answer. It hears of
// each such call once, and waits for the answer then.
type patience struct {
	caller *caller
	timer  run.Timer
	end    time.Time
}

// patience starts the timer of what is left of the caller's time.
func (c *caller) patience(tellBy time.Time) *patience {
	p := &patience{caller: c}
	p.end = p.endsAt(tellBy)
	clock := c.run.env.Clock
	p.timer = clock.NewTimer(clock.Until(p.end))
	return p
}

func (p *patience) endsAt(tellBy time.Time) time.Time {
	if end := p.caller.deadline; p.caller.unattended || tellBy.IsZero() || end.Before(tellBy) {
		return end
	}
	return tellBy
}

// over reports whether the caller is to have a result now.
func (p *patience) over(tellBy time.Time) bool {
	clock, end := p.caller.run.env.Clock, p.endsAt(tellBy)
	if !end.Equal(p.end) {
		p.end = end
		p.timer.Reset(clock.Until(end))
	}
	return clock.Until(end) <= 0 || calls.IsClosed(p.caller.leaves)
}
