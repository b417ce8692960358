package host

import "sync/atomic"

// maxIdle is how many goroutines wait for the next tool call.
const maxIdle = 32

// callWorkers perform tool calls. They keep the goroutines of calls that have ended for
// the next calls: the stack of a new goroutine is copied several times on the way down
// to a tool. BenchmarkCallWorkers shows what that saves.
type callWorkers struct {
	do   func(callJob)
	jobs chan callJob
	idle atomic.Int32
	end  <-chan struct{} // closed when the host ends
}

// callJob is a call that has a slot of its run.
type callJob struct {
	run  *run
	call *entry
}

func newCallWorkers(end <-chan struct{}, do func(callJob)) *callWorkers {
	return &callWorkers{do: do, jobs: make(chan callJob), end: end}
}

// perform performs a call on a goroutine of its own.
func (w *callWorkers) perform(j callJob) {
	select {
	case w.jobs <- j:
	default:
		go w.serve(j)
	}
}

// serve performs one call after the other.
func (w *callWorkers) serve(j callJob) {
	for {
		w.do(j)
		j = callJob{} // a goroutine that waits holds no run
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
