package guestrt

import (
	"time"

	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

const (
	// usagePeriod is how often the host looks at what a process that serves a
	// guest uses.
	usagePeriod = 100 * time.Millisecond
	// idlePeriods is how many of these pass between two looks at one that waits
	// for its session to come back.
	idlePeriods = 10
	// maxHidden is how many looks in a row may find a process that hides its memory.
	maxHidden = 3
)

// watchUsage ends a process that has more memory or threads than any guest can
// make it have. It is for a worker that was taken over: the limits that the kernel
// keeps count the whole address range of the largest heap, and on some systems no
// threads. It returns when the process is gone.
func (p *process) watchUsage() {
	tick := time.NewTicker(usagePeriod)
	defer tick.Stop()
	hidden := 0 // how often in a row; a process that is ending hides its memory once
	for n := 1; ; n++ {
		select {
		case <-p.gone:
			return
		case <-tick.C:
		}
		if p.idle.Load() && n%idlePeriods != 0 {
			continue
		}
		u, err := sandbox.UsageOf(p.os.Pid)
		if err != nil {
			continue // it is gone, which p.gone says next, or this host lacks descriptors
		}
		if hidden++; !u.Hidden {
			hidden = 0
		}
		if hidden >= maxHidden {
			p.kill(workerError(wire.CodeInternal, wire.ReasonSandboxViolation, wire.PhaseHost,
				"the guest worker ended its first thread, which hides its memory, and was killed"))
			return
		}
		if end := excess(u, p.memory.Load()); end != nil {
			p.kill(end)
			return
		}
	}
}

// excess returns the ending of a process that uses more than it may for a guest
// of memory bytes, or nil.
func excess(u sandbox.Usage, memory uint64) *WorkerError {
	switch {
	case u.Threads > sandbox.MaxThreads:
		return workerError(wire.CodeInternal, wire.ReasonSandboxViolation, wire.PhaseHost,
			"the guest worker had %d threads, more than the %d it may have, and was killed", u.Threads, sandbox.MaxThreads)
	case u.Memory > sandbox.MemoryFor(memory):
		return groupOutOfMemory()
	}
	return nil
}
