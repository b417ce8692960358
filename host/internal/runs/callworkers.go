package runs

import "sync/atomic"

// maxIdle is how many goroutines wait for the next tool call.
const maxIdle = 32

// callWorkers perform tool calls. They keep the goroutines of calls that have ended for
// the next calls: the stack of a new goroutine is copied several times on the way down
// to a tool. BenchmarkCallWorkers shows what that saves.
type callWorkers[Job any] struct {
	do   func(Job) (next *Job) // on the same goroutine
	jobs chan Job
	idle atomic.Int32
	end  <-chan struct{} // closed when the host ends
}

func newCallWorkers[Job any](end <-chan struct{}, do func(Job) *Job) *callWorkers[Job] {
	return &callWorkers[Job]{do: do, jobs: make(chan Job), end: end}
}

// perform performs a call on a goroutine of its own.
func (w *callWorkers[Job]) perform(j Job) {
	select {
	case w.jobs <- j:
	default:
		go w.serve(j)
	}
}

// serve performs one call after the other.
func (w *callWorkers[Job]) serve(j Job) {
	for {
		for next := &j; next != nil; {
			next = w.do(*next)
		}
		var none Job
		j = none // a goroutine that waits holds no run
		if w.idle.Add(1) > maxIdle {
			w.idle.Add(-1)
			return
		}
		select {
		case j = <-w.jobs:
			w.idle.Add(-1)
		case <-w.end:
			return
		}
	}
}
