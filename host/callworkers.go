package host

import "sync/atomic"

// maxIdle is how many goroutines wait for the next tool call.
const maxIdle = 32

// callWorkers performs tool calls. It keeps the goroutines of calls that have ended for the
// next ones: the stack of a new goroutine is copied several times on the way down to
// a tool, which took a tenth of what a call costs the host.
type callWorkers struct {
	work chan callJob
	idle atomic.Int32
	end  <-chan struct{} // closed when the host ends
}

// callJob is a call that has a slot of its run.
type callJob struct {
	run  *run
	call *call
}

func newCallWorkers(end <-chan struct{}) *callWorkers {
	return &callWorkers{work: make(chan callJob), end: end}
}

// perform performs a call on a goroutine of its own.
func (c *callWorkers) perform(t callJob) {
	select {
	case c.work <- t:
	default:
		go c.serve(t)
	}
}

// serve performs one call after the other.
func (c *callWorkers) serve(t callJob) {
	for {
		t.run.perform(t.call)
		t = callJob{} // a goroutine that waits holds no run
		if c.idle.Add(1) > maxIdle {
			c.idle.Add(-1)
			return
		}
		select {
		case t = <-c.work:
			c.idle.Add(-1)
		case <-c.end:
			return
		}
	}
}
