package host

import "sync/atomic"

// maxIdle is how many goroutines wait for the next tool call.
const maxIdle = 32

// crew performs tool calls. It keeps the goroutines of calls that have ended for the
// next ones: the stack of a new goroutine is copied several times on the way down to
// a tool, which took a tenth of what a call costs the host.
type crew struct {
	work chan task
	idle atomic.Int32
	end  <-chan struct{} // closed when the host ends
}

// task is a call that has a slot of its run.
type task struct {
	run  *run
	call *call
}

func newCrew(end <-chan struct{}) *crew { return &crew{work: make(chan task), end: end} }

// perform performs a call on a goroutine of its own.
func (c *crew) perform(t task) {
	select {
	case c.work <- t:
	default:
		go c.serve(t)
	}
}

// serve performs one call after the other.
func (c *crew) serve(t task) {
	for {
		t.run.perform(t.call)
		t = task{} // a goroutine that waits holds no run
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
