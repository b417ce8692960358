package drive

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/output"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// driver drives the guest of a run through one Exec or Wait after the other: it has the
// guest run a turn, admits the calls that the guest makes, waits for their answers, and
// starts again.
//
// Each Exec and each Wait has a driver of its own. A run has the newest one, which belongs
// to the goroutine that has made the run active.
type driver struct {
	guest
	output        output.Budget
	chargedOutput int64          // bytes
	carried       *output.Budget // what was emitted and is left to the next result

	driverLock
}

// guest is the guest of a run, driven for a caller. It is in a worker, or it was evicted: then
// its image is kept, and the worker serves other guests.
type guest struct {
	caller
	ran       bool              // it has had a turn in this Exec or Wait
	worker    guests.Worker     // nil: the guest was evicted, or has not started
	image     []byte            // of the guest as it is now; nil: the guest has run since
	large     bool              // the guest is too large to be parked early
	held      *pipeline.Program // it has not started: a person has to decide
	timerDue  time.Time         // zero: no guest timer
	imageSize int               // of the newest image
	layers    []wire.Layer      // of the worker that ran it last
	engineID  string            // of that worker; "": no worker ran it
}

// caller is for whom a run is driven in one Exec or Wait, and for how long.
type caller struct {
	run        *Run
	ctx        context.Context // ends with the caller's context or the run
	started    time.Time       // reset by lap
	compute    time.Duration   // how long the guest may compute in one turn
	deadline   time.Time       // when the caller wants to have a result; the guest may compute on
	leaves     <-chan struct{} // closed when the caller leaves the run as it is; may be nil
	callerAsks bool            // the caller asks people itself
	refused    *quota.Denied   // why there was no worker the last time
	delivery   *Delivery       // of the result; nil: the caller has it as soon as it is there
	unattended bool            // there is no caller: see unattended.go
	keptUntil  time.Time       // the run's expiry before this driver, at which an unattended one leaves it
	couldNot   *codemode.Error // why an unattended driver has left the run as it was
}

// NewDriver returns the driver of one Exec or Wait. It has the guest of the driver before.
// That one may still give its worker back, so the two share nothing.
func (r *Run) NewDriver(start time.Time) *driver {
	last := r.driver
	d := &driver{
		guest: guest{
			caller: caller{run: r, started: start},
			held:   last.held, timerDue: last.timerDue, imageSize: last.imageSize, layers: last.layers, engineID: last.engineID,
		},
		output: output.Budget{Limit: r.Settings.MaxOutput}, chargedOutput: last.chargedOutput,
	}
	if last.carried != nil {
		d.output.Resume(last.carried)
	}
	r.driver = d
	d.over = make(chan struct{}, 1)
	d.holder.Lock() // this goroutine keeps the lock when the run ends
	return d
}

// lap adds the time since the Exec or Wait started, or since the last lap, to the run's
// counters, and returns the counters. The caller holds calls.mu.
func (c *caller) lap() runstore.Counters {
	now := time.Now()
	defer func() { c.started = now }()
	return c.run.Calls.Costs.Lap(c.started, now)
}

func (g *guest) timerIsDue() bool {
	return !g.timerDue.IsZero() && !time.Now().Before(g.timerDue)
}

// driverLock is held by the goroutine that drives a run. The goroutine of the Exec or Wait
// releases it while it waits for calls. Then the goroutine of a call that has settled may
// acquire it: it delivers the answer, runs the guest's turn, releases the lock, and performs
// calls that the guest has made in that turn. So a program that makes one call after the
// other stays on one goroutine, and the one of the Exec or Wait, with its timers, wakes up
// only for what is no plain answer.
//
// Every answer is noticed: a goroutine that cannot acquire the lock has set handover.arrived
// before it tried, and the one that releases the lock looks at that afterwards. Where calls
// were made together and have not all started, the last one to start looks.
type driverLock struct {
	holder sync.Mutex    // held by the goroutine that drives
	over   chan struct{} // capacity 1: the goroutine of a call has a result

	// These fields belong to the holder.
	turns  int              // of the guest that goroutines of calls have run
	result *codemode.Result // the result of one of them
	onCall bool             // the holder is the goroutine of a call
	next   []callJob        // what it performs next
}

// handover is what the goroutines of a run know of each other when they hand over its driver.
type handover struct {
	waiting   atomic.Pointer[driver] // has released its lock
	arrived   atomic.Bool            // a call has settled since a goroutine with the lock last looked
	unstarted atomic.Int32           // calls that goroutines are about to perform
}

// carry keeps what the run has put out for the next driver of this process, if there is no one
// to take it now: the caller has left its run, as a caller does when its connection has
// broken. A caller that has run out of time has left it, too, and takes a result.
func (d *driver) carry() {
	caller, leaves := run.CallerOf(d.ctx)
	if d.unattended || calls.IsClosed(leaves) && !errors.Is(context.Cause(caller), context.DeadlineExceeded) {
		d.carried = &d.output
	}
}
