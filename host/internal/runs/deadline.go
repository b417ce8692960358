package runs

import (
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// cpuGrace is what a turn may take beyond the run's budget before its worker is
// stopped: the CPU time of a turn is known only when the turn ends.
const cpuGrace = 100 * time.Millisecond

// cpuShare is how much longer than its CPU budget a turn may take: a machine that
// does more than one thing gives it a part of a processor.
const cpuShare = 8

// turnDeadline is when the next turn must end: at the deadline, or when it must have
// used up the run's CPU budget.
func (d *driver) turnDeadline() time.Time {
	if end := time.Now().Add(cpuShare*d.cpuLeft() + cpuGrace); end.Before(d.deadline) {
		return end
	}
	return d.deadline
}

// cpuLeft is what is left of the run's CPU budget. Searches in the host count too. The
// driver alone changes what it reads.
func (d *driver) cpuLeft() time.Duration {
	c := &d.run.calls.counters
	return max(0, d.run.settings.CPUBudget-time.Duration(int64(c.CPUMicros)+c.QueryMicros)*time.Microsecond)
}

// overBudget is the failure of a run that has used up its CPU budget, or f.
func (d *driver) overBudget(f *failure) *failure {
	if d.cpuLeft() > 0 || f != nil && f.Code != codemode.CodeTimeout {
		return f
	}
	return failf(codemode.CodeTimeout, "", codemode.PhaseGuest, "code mode CPU budget exceeded: the run has used %s of processor time, waits and searches included (tools.codeMode.cpuBudgetMs).", d.run.settings.CPUBudget)
}

// deadlineTimer is the time that is left while the guest waits for its calls. It
// pauses while a person is asked: what people take is not the program's. But a caller
// does not wait for them without end: after one more full timeout the run is suspended.
type deadlineTimer struct {
	driver *driver
	timer  *time.Timer
	paused time.Time // since when; zero: it runs
}

// startTimer starts a timer that ends at the deadline.
func (d *driver) startTimer(onApproval bool) *deadlineTimer {
	t := &deadlineTimer{driver: d, timer: time.NewTimer(time.Until(d.deadline) - d.margin)}
	t.update(onApproval)
	return t
}

// update pauses the timer if a call waits for a person, and resumes it if no call does.
// It reports whether the time is over.
func (t *deadlineTimer) update(onApproval bool) (over bool) {
	d := t.driver
	switch {
	case onApproval && t.paused.IsZero():
		t.paused = time.Now()
		t.timer.Reset(d.approvalGrace)
	case !onApproval && !t.paused.IsZero():
		t.resume()
	}
	if t.paused.IsZero() {
		return time.Until(d.deadline) <= d.margin
	}
	return time.Since(t.paused) >= d.approvalGrace
}

// resume lets the timer go on from where it was paused.
func (t *deadlineTimer) resume() {
	d, took := t.driver, time.Since(t.paused)
	t.paused = time.Time{}
	d.approvalGrace = max(d.approvalGrace-took, 0)
	d.setDeadline(d.deadline.Add(took))
	t.timer.Reset(time.Until(d.deadline) - d.margin)
}

// stop ends the timer. The time for which it was paused is added to the deadline.
func (t *deadlineTimer) stop() {
	if !t.paused.IsZero() {
		t.resume()
	}
	t.timer.Stop()
}
