package guestrt

import (
	"time"

	"github.com/quoinhq/quoin/guestrt/sandbox"
	"github.com/quoinhq/quoin/guestrt/wire"
)

// threadsPeriod is how often a process's threads are counted.
const threadsPeriod = 100 * time.Millisecond

// watchThreads ends a process that makes more threads than a worker needs. It is
// for systems on which the kernel cannot limit them for one process.
func (p *process) watchThreads() {
	tick := time.NewTicker(threadsPeriod)
	defer tick.Stop()
	for {
		select {
		case <-p.gone:
			return
		case <-tick.C:
		}
		n, err := sandbox.Threads(p.os.Pid)
		if err != nil {
			return // it is gone: its status was read before, when it was verified
		}
		if n > sandbox.MaxThreads {
			p.kill(tooManyThreads(n))
			return
		}
	}
}

func tooManyThreads(n int) *Ending {
	return ending(wire.CodeInternal, wire.ReasonSandboxViolation, wire.PhaseHost,
		"the guest worker had %d threads, more than the %d it may have, and was killed", n, sandbox.MaxThreads)
}
