package guestrt

import "time"

// What a worker may use next to what its guest does.
const (
	// maxGrowth is how much more private memory, in bytes, than when it got ready
	// a process may hold after its guest and be used again. Memory that the Go
	// runtime has mapped once counts against the data limit for good, and the next
	// guest needs its share of it; see docs/reference/security.md.
	maxGrowth = 64 << 20
	// idleCPU is the processor time a used worker may take to reset itself and to
	// wait.
	idleCPU = 500 * time.Millisecond
	// idleTime is how long a used worker waits for its session.
	idleTime = time.Minute
	// checkInterval is how long a used worker can misbehave before it is noticed.
	checkInterval = time.Second
	// cpuSlack is what the clocks of both sides may differ by.
	cpuSlack = time.Second
)

// grown reports whether the process holds too much memory to run another guest. One
// that cannot be measured does.
func (p *process) grown() bool {
	now, ok := p.meter.memory()
	return !ok || now > p.atReady+maxGrowth
}

// runaway reports whether the process has used more processor time since it was
// left alone than a good one needs.
func (l *sessionWorker) runaway() bool {
	now, ok := l.p.meter.cpu()
	return !ok || now-l.cpu > idleCPU
}

// checkKept ends the used workers that do not wait quietly, and those that have
// waited long enough. It comes again while there are any.
func (p *Pool) checkKept() {
	p.kept.each(func(l *sessionWorker) {
		cause := (*WorkerError)(nil)
		switch {
		case l.runaway():
			cause = errRunaway
		case time.Since(l.since) > idleTime:
			cause = errUnneeded
		default:
			return
		}
		if p.kept.take(func(held *sessionWorker) bool { return held == l }) != nil {
			l.p.kill(cause)
		}
	})
	p.checkScheduled.Store(false)
	p.scheduleCheck()
}

// scheduleCheck sees to it that someone looks at the used workers, if there are any.
func (p *Pool) scheduleCheck() {
	if !p.closed.Load() && p.kept.count() > 0 && p.checkScheduled.CompareAndSwap(false, true) {
		time.AfterFunc(checkInterval, p.checkKept)
	}
}
