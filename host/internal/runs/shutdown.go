package runs

import (
	"context"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// LetFinish lets no new program in and has runs parked as soon as they can, until no
// program runs or ctx ends.
func (e *Engine) LetFinish(ctx context.Context) {
	e.mu.Lock()
	if !e.closing {
		e.closing = true
		if !e.Volatile() {
			close(e.Parking)
		}
	}
	e.mu.Unlock()
	if n := e.driving.Wait(ctx); n > 0 {
		e.Logger.Warn("shutting down with programs running; they are aborted", "programs", n)
	}
}

// Close ends the runs of this process. It drains their calls, so that the answers reach
// a store that outlives the process.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closing, e.closed = true, true
	runs := make([]*drive.Run, 0, len(e.runs))
	for _, r := range e.runs {
		runs = append(runs, r)
	}
	e.mu.Unlock()
	e.advancer.Stop()
	// A run that an answer is loading is parked first, so that its record stays.
	e.answering.Lock()
	//lint:ignore SA2001 Close only waits for it
	e.answering.Unlock()
	for _, r := range runs {
		r.CancelIfActive(codemode.ErrClosed)
	}
	// Their drivers delete their records, and keep the claims until then.
	if n := within(e.Times.DriverGrace, e.driving.Wait); n > 0 {
		e.Logger.Error("aborted programs do not end", "programs", n)
	}
	if n := within(e.DrainTimeout, e.Performing.WaitBusy); n > 0 {
		e.Logger.Warn("closing with tool calls in flight; suspended runs will not know whether they took effect", "calls", n)
	}
	if n := suspended(runs); n > 0 && !e.Volatile() {
		e.Logger.Info("suspended runs are kept for the next host of this store", "runs", n)
	}
	for _, r := range runs {
		r.Stop(run.Leaving, codemode.ErrClosed)
		e.Remove(r)
	}
	// Cancelled calls end at once, unless a tool does not listen to its context.
	if n := within(e.DrainTimeout, e.Performing.Wait); n > 0 {
		e.Logger.Error("tool calls do not end although they are cancelled", "calls", n)
	}
	e.leaveRuns(runs)
	e.KeptPrograms.Flush()
}

// leaveRuns lets other hosts have the runs. A store that does not answer delays that by one
// bound for all runs, and each release by the bound of the store.
func (e *Engine) leaveRuns(runs []*drive.Run) {
	ctx, cancel := context.WithTimeout(context.Background(), e.Times.LastWakesTimeout)
	defer cancel()
	e.lastWakes.Store(&ctx)
	defer e.lastWakes.Store(nil) // what is still on its way has a time of its own
	left := make(chan *drive.Run)
	var leaving sync.WaitGroup
	for range min(leavingAtOnce, len(runs)) {
		leaving.Go(func() {
			for r := range left {
				e.Guard(func() {
					defer r.FinishMove()
					r.Record.DropClaim()
				})
			}
		})
	}
	for _, r := range runs {
		left <- r
	}
	close(left)
	leaving.Wait()
}

// leavingAtOnce is how many runs a host that closes releases at once.
const leavingAtOnce = 32

// StopWorkers ends the guest workers.
func (e *Engine) StopWorkers() error {
	e.Background.Wait()
	return e.Guests.Close()
}

// suspended counts the runs that wait for a later Wait.
func suspended(runs []*drive.Run) (n int) {
	for _, r := range runs {
		if r.Now() == run.Parked {
			n++
		}
	}
	return n
}

// within waits for d at most, and returns how many are left.
func within(d time.Duration, wait func(context.Context) int) int {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return wait(ctx)
}
