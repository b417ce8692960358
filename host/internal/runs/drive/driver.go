package drive

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/output"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/awake"
	"github.com/quoinhq/quoin/internal/wire"
)

// driver drives the guest of a run through one Exec or Wait after the other: it has the
// guest run a turn, admits the calls that the guest makes, waits for their answers, and
// starts again. Between two turns the guest is in a worker, or it was evicted: then its
// image is kept, and the worker serves other guests.
//
// Each Exec and each Wait has a driver of its own. A run has the newest one, which belongs
// to the goroutine that has made the run active.
type driver struct {
	run *Run

	// These fields are of the present Exec or Wait.
	ctx           context.Context // ends with the caller's context or the run
	started       time.Time       // reset by lap
	compute       time.Duration   // how long the guest may compute in one turn
	deadline      time.Time       // when the caller wants to have a result; the guest may compute on
	ran           bool            // the guest has had a turn
	leaves        <-chan struct{} // closed when the caller leaves the run as it is; may be nil
	callerAsks    bool            // the caller asks people itself
	refused       *quota.Denied   // why there was no worker the last time
	delivery      *Delivery       // of the result; nil: the caller has it as soon as it is there
	unattended    bool            // there is no caller: see advance.go
	keptUntil     time.Time       // the run's expiry before this driver, at which an unattended one leaves it
	couldNot      *codemode.Error // why an unattended driver has left the run as it was
	output        output.Budget
	chargedOutput int64 // bytes

	// These fields are of the guest.
	worker    *guestrt.Worker   // nil: the guest was evicted, or has not started
	image     []byte            // of the guest as it is now; nil: the guest has run since
	large     bool              // the guest is too large to be parked early
	held      *pipeline.Program // it has not started: a person has to decide
	timerDue  time.Time         // zero: no guest timer
	imageSize int               // of the newest image
	layers    []wire.Layer      // of the worker that ran it last
	engineID  string            // of that worker; "": no worker ran it
	carried   *output.Budget    // what was emitted and is left to the next result

	driverLock
}

// Begin returns the driver of one Exec or Wait. It has the guest of the driver before.
// That one may still give its worker back, so the two share nothing.
func (r *Run) Begin(start time.Time) *driver {
	last := r.driver
	d := &driver{
		run: r, started: start,
		output: output.Budget{Limit: r.Settings.MaxOutput}, chargedOutput: last.chargedOutput,
		held: last.held, timerDue: last.timerDue, imageSize: last.imageSize, layers: last.layers, engineID: last.engineID,
	}
	if last.carried != nil {
		d.output.Resume(last.carried)
	}
	r.driver = d
	d.acquire()
	return d
}

// ErrBusy means that no worker came free in time.
var ErrBusy = errors.New("every guest worker is busy")

// lease takes one of the host's worker slots and a worker.
func (d *driver) lease() error {
	h := d.run.env
	if err := d.awaitSlot(); err != nil {
		return err
	}
	w, err := d.run.pool.Acquire(d.ctx, d.run.Session.Identity(), d.run.limits())
	if err != nil {
		h.Meters.Workers.Give(quota.OwnerOf(d.run.Session), 1)
		return err
	}
	d.worker, d.layers, d.engineID = w, w.Layers(), w.EngineID()
	return nil
}

// AwaitSlot waits for a worker slot for as long as the caller waits.
func (d *driver) awaitSlot() error {
	why, err := d.run.env.AwaitSlot(d.ctx, d.run.Session, d.deadline, d.leaves)
	if why != nil {
		d.refused = why
	}
	return err
}

// release gives the worker back, if there is one.
func (d *driver) release() {
	if d.worker == nil {
		return
	}
	d.run.pool.Release(d.worker)
	d.worker = nil
	d.run.env.Meters.Workers.Give(quota.OwnerOf(d.run.Session), 1)
}

// evict takes the guest out of its worker. A guest that is too large stays.
func (d *driver) evict() error {
	_, err := d.snapshot()
	if fault.TooLarge(err) {
		return nil
	}
	if err != nil {
		return err
	}
	d.release()
	d.run.env.Observer.Debug.Decision("guest left its worker while it waits", "run", d.run.ID)
	return nil
}

// errStuck means that a worker did not answer although no guest ran in it.
var errStuck = errors.New("the guest worker does not answer")

// service runs a step in which no guest code runs under a time limit.
func (d *driver) service(step func(context.Context) error) error {
	ctx, cancel := awake.WithTimeoutCause(d.ctx, d.compute+d.run.env.Times.ServiceGrace, errStuck)
	defer cancel()
	err := step(ctx)
	if err != nil && d.ctx.Err() == nil && ctx.Err() != nil {
		return errStuck
	}
	return err
}

// snapshot returns an image of the guest as it is since its last turn. A guest that is
// in a worker stays there.
func (d *driver) snapshot() ([]byte, error) {
	if d.image != nil || d.held != nil {
		return d.image, nil
	}
	err := d.service(func(ctx context.Context) (err error) {
		d.image, err = d.worker.Snapshot(ctx, int(d.run.Settings.MaxSnapshot))
		return err
	})
	if err == nil {
		if denied := d.run.Calls.ChargeImage(len(d.image)); denied != nil {
			d.image = nil
			return nil, calls.HeldTooMuch(denied)
		}
	}
	return d.image, err
}

// errUnrestored means that no worker could take the guest, for reasons that are not
// the guest's. The run is as it was.
var errUnrestored = errors.New("no guest worker could take the suspended program")

// Restore puts an evicted guest into a worker. The image is kept until the guest has
// run there. A process that cannot take it is replaced once by one that has run
// nothing yet.
func (d *driver) restore() error {
	if d.worker != nil {
		return nil
	}
	err := d.lease()
	if err == nil {
		d.run.env.Observer.Metrics.GuestRestored(run.EngineOf(d.engineID).Name)
		if err = d.tryRestore(); d.processFailed(err) {
			d.run.env.Logger.Warn("a guest worker could not take a suspended program; another one tries", "run", d.run.ID, "error", err)
			if err = d.replaceWorker(); err == nil {
				err = d.tryRestore()
			}
		}
	}
	if !d.processFailed(err) {
		return err
	}
	d.run.env.Logger.Error("no guest worker could take a suspended program; it waits on", "run", d.run.ID, "error", err)
	d.release()
	return errUnrestored
}

func (d *driver) tryRestore() error {
	return d.service(func(ctx context.Context) error {
		return d.worker.Restore(ctx, d.image, d.run.limits(), d.run.file)
	})
}

// processFailed reports whether a guest has no worker although nothing is wrong
// with its image, and there is time and use for another attempt.
func (d *driver) processFailed(err error) bool {
	var e *guestrt.WorkerError
	return d.ctx.Err() == nil && (errors.Is(err, errStuck) || errors.As(err, &e) && codemode.Reason(e.Reason) != codemode.ReasonRestoreFailed)
}

// replaceWorker takes a worker that has run nothing yet in place of the present one.
func (d *driver) replaceWorker() error {
	h := d.run.env
	d.run.pool.Release(d.worker)
	d.worker = nil
	w, err := d.run.pool.AcquireFresh(d.ctx, d.run.Session.Identity(), d.run.limits())
	if err != nil {
		h.Meters.Workers.Give(quota.OwnerOf(d.run.Session), 1)
		return err
	}
	d.worker, d.layers, d.engineID = w, w.Layers(), w.EngineID()
	return nil
}

// turn delivers what has settled and runs the guest. It returns ErrBusy or
// errUnrestored, and delivers nothing, when there is no worker.
func (d *driver) turn() (*wire.Report, error) {
	if d.held != nil {
		return d.startHeld()
	}
	if err := d.restore(); err != nil {
		return nil, err
	}
	d.dropImage()
	settlements, started, more := d.run.Calls.DrainInbox()
	if more {
		d.run.arrived.Store(true)
	}
	if len(started) > 0 {
		d.run.launch(started, d.run.Record.Journal(d.run.Background()))
	}
	d.run.replay.Start(nil, settlements)
	rep, err := d.worker.Turn(d.ctx, settlements, d.turnDeadline())
	return d.logged(rep, err)
}

// startProgram starts a program in the worker and runs its first turn.
func (d *driver) startProgram(p pipeline.Program) (*wire.Report, error) {
	cell := d.run.cell(p.Code, p.Language)
	d.run.replay.Start(&cell, nil)
	rep, err := d.worker.Start(d.ctx, cell, d.run.file, d.turnDeadline())
	return d.logged(rep, err)
}

// logged enters the report of a turn into the run's log.
func (d *driver) logged(rep *wire.Report, err error) (*wire.Report, error) {
	if err == nil {
		d.run.replay.End(rep)
	}
	return rep, err
}

// dropImage forgets the image of a guest that is going to run, or that the store has. A store
// in memory holds it still.
func (d *driver) dropImage() {
	if d.image == nil {
		return
	}
	d.image = nil
	if !d.run.Record.IsVolatile() || !d.run.Record.IsStored() {
		_ = d.run.Calls.ChargeImage(0) // less is never refused
	}
}

// failureFrom says why a step of the guest failed: because the run was ended, because
// there was no worker, or as the worker says.
func (d *driver) failureFrom(err error) *codemode.Error {
	var own *codemode.Error
	switch {
	case d.run.Context.Err() != nil:
		return d.run.Aborted()
	case d.ctx.Err() != nil:
		f := codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "code mode run was aborted: %v", context.Cause(d.ctx))
		f.Err = context.Cause(d.ctx) // for tools, whose calls end with it
		return f
	case errors.As(err, &own):
		return own
	case errors.Is(err, errStuck):
		return codemode.Errorf(codemode.CodeTimeout, codemode.ReasonWorkerCrashed, codemode.PhaseHost, "%v", err)
	case errors.Is(err, fault.ErrClosing):
		return fault.Closing()
	case errors.Is(err, ErrBusy):
		return codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost, "every guest worker is busy%s. Try again later.", because(d.refused))
	default:
		return fault.FromWorker(err)
	}
}

// because adds a quota to a message.
func because(d *quota.Denied) string {
	if d == nil {
		return ""
	}
	return ": " + d.Error()
}

// drive runs the guest to the next result: it serves the guest's bridge calls as
// their answers arrive, with no model turn in between. The caller contains it.
func (d *driver) drive(rep *wire.Report, err error) *codemode.Result {
	for {
		if res := d.step(rep, err); res != nil {
			return res
		}
		if res := d.ready(); res != nil {
			return res
		}
		rep, err = d.turn()
	}
}

// step takes over what one turn of the guest came to. The result is nil if the run goes on.
func (d *driver) step(rep *wire.Report, err error) *codemode.Result {
	switch {
	case errors.Is(err, ErrBusy), errors.Is(err, fault.ErrClosing), errors.Is(err, errUnrestored):
		return d.suspend()
	case err != nil:
		return d.failed(d.failureFrom(err))
	}
	return d.handleReport(rep)
}

// ready waits until the guest should run again. If it should not in this Exec or
// Wait, the result says why.
func (d *driver) ready() *codemode.Result {
	for {
		why, err := d.await()
		switch {
		case err != nil:
			return d.failed(d.failureFrom(err))
		case why == wokeReady:
			return nil
		case why == wokeDriven:
			if d.result != nil {
				return d.result
			}
			continue
		case why == wokeDeadline && d.mayGoOnLarge():
			continue
		case why == wokeDeadline, why == wokeClient:
			return d.suspend()
		case why == wokeNothing:
			return d.failed(codemode.Errorf(codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest, "code mode promise is pending without host work"))
		}
		// The host shuts down. A guest too large to be parked goes on.
		if _, err := d.snapshot(); !fault.TooLarge(err) {
			return d.suspend()
		}
		d.large = true
	}
}

// handleReport accounts for one turn. The result is nil if the run goes on.
func (d *driver) handleReport(rep *wire.Report) *codemode.Result {
	r := d.run
	f := d.absorb(rep)
	if r.Context.Err() != nil {
		// The guest may have seen its calls cancelled before we did.
		f = d.failureFrom(r.Context.Err())
	}
	if f != nil {
		return d.failed(f)
	}
	switch rep.Status {
	case wire.StatusFailed:
		return d.failed(d.overBudget(fault.FromGuest(rep.Err)))
	case wire.StatusDone:
		return d.completed(rep.Value)
	}
	if f := d.overBudget(nil); f != nil {
		return d.failed(f)
	}
	b, f := r.Record.Admit(rep.Requests)
	if f != nil {
		return d.failed(f)
	}
	d.launch(b.Started, nil)
	d.run.AnswerAll(d.ctx, b.Queries, d.compute)
	if b.Yielded {
		return d.suspend(b.Fresh...)
	}
	if err := d.checkpoint(b.Fresh); err != nil {
		return d.failed(d.failureFrom(err))
	}
	return nil
}

// checkpoint starts calls of the guest's last turn as the record of the run allows.
func (d *driver) checkpoint(fresh []*calls.Entry) error {
	r := d.run
	started, lost, err := r.Record.Checkpoint(r.Background(), fresh, d.snapshot, func(rec *runstore.Record) {
		rec.Counters = d.lap()
		rec.Expires = d.expiresAfter(d.deadline)
		d.output.Store(rec)
		if len(rec.Replay) > max(replay.MaxCheckpointLog, len(rec.Image)) {
			rec.Replay, rec.NoReplay = nil, replay.LostNotWritten
		}
	})
	d.launch(started, lost)
	return cmp.Or(err, r.Record.GaveUp())
}

// lap adds the time since the Exec or Wait started, or since the last lap, to the run's
// counters, and returns the counters. The caller holds calls.mu.
func (d *driver) lap() runstore.Counters {
	now := time.Now()
	defer func() { d.started = now }()
	return d.run.Calls.Lap(d.started, now)
}

// woke says why a driver stopped waiting.
type woke int

const (
	wokeReady    woke = iota // there is something to deliver, or a guest timer is due
	wokeDeadline             // the caller is to have a result
	wokeNothing              // nothing will ever come
	wokeClient               // nothing will come until the client has answered
	wokeClosing              // the host shuts down
	wokeDriven               // the goroutine of a call has driven the guest on
)

// await blocks until there is a reason to run the guest again, or no reason can come.
// A guest that waits for long is evicted meanwhile. While this goroutine waits, goroutines
// of calls may drive the guest on: see driverlock.go.
func (d *driver) await() (woke, error) {
	r := d.run
	status := d.look()
	patience := d.patience(status.TellBy)
	defer patience.stop()
	timer, stop := d.guestTimer()
	defer stop()
	evict, stay := d.evictTimer()
	defer stay()
	closing := r.env.Parking
	if d.large {
		closing = nil
	}
	turns := d.turns
	for ; ; status = d.look() {
		switch {
		case r.Context.Err() != nil:
			return 0, r.Context.Err()
		case d.ctx.Err() != nil:
			return 0, d.ctx.Err()
		case timer == nil && !status.Pending:
			return wokeNothing, nil
		case calls.IsClosed(closing):
			return wokeClosing, nil
		case !d.ran && (status.Deliverable || d.timerIsDue()):
			return wokeReady, nil // however short the caller's time is, its run gets on
		case d.unattended && !d.ran:
			return wokeDeadline, nil // it goes on once there is something to deliver
		case patience.over(status.TellBy):
			return wokeDeadline, nil
		case status.Deliverable:
			return wokeReady, nil
		case status.BlockedOnClient && !d.timerIsDue(), d.isCallersTurn(status):
			return wokeClient, nil
		}
		late, due := false, false
		d.releaseLock()
		select {
		case <-r.Wake:
		case <-d.over:
		case <-timer:
			due = true
		case <-patience.timer.C(): // over decides
		case <-d.leaves: // over decides
		case <-closing:
		case <-evict:
			late = true
		case <-d.ctx.Done():
		}
		d.reacquireLock()
		switch {
		case d.turns != turns: // the timers are of an earlier turn
			return wokeDriven, nil
		case due:
			return wokeReady, nil
		case late:
			if err := d.evict(); err != nil {
				return 0, err
			}
		}
	}
}

func (d *driver) guestTimer() (<-chan time.Time, func()) {
	if d.timerDue.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(d.timerDue))
	return t.C, func() { t.Stop() }
}

func (d *driver) timerIsDue() bool {
	return !d.timerDue.IsZero() && !time.Now().Before(d.timerDue)
}

func (d *driver) evictTimer() (<-chan time.Time, func()) {
	if d.worker == nil {
		return nil, func() {}
	}
	t := time.NewTimer(d.run.env.Times.EvictAfter)
	return t.C, func() { t.Stop() }
}

// goOn waits until there is something to deliver to the guest, and drives it on.
func (d *driver) goOn() (res *codemode.Result) {
	defer d.contain(&res)
	if res := d.ready(); res != nil {
		return res
	}
	return d.drive(d.turn())
}

func (r *Run) limits() wire.Limits {
	// Items are counted against MaxOutput here, to the byte; the guest must not
	// drop any before.
	return wire.Limits{MemoryBytes: uint64(r.Settings.MemoryLimit), MaxOutputItems: wire.MaxOutputItems}
}

// cell is what the worker needs to start the program.
func (r *Run) cell(code, language string) wire.Cell {
	c := wire.Cell{Language: language, Source: code, Limits: r.limits()}
	for _, n := range r.View().Namespaces {
		c.Namespaces = append(c.Namespaces, wire.NamespaceRef{Global: n.GlobalName, ID: n.ID})
	}
	return c
}

// isCallersTurn reports whether the run goes on only once the caller has asked a person.
// Where a decision is there and on its way to its call, the run goes on without.
func (d *driver) isCallersTurn(s calls.Status) bool {
	if !d.callerAsks || s.BlockedOnPeople == 0 || d.timerIsDue() {
		return false
	}
	list, err := policy.Select(d.ctx, d.run.env.ApprovalStore, policy.Filter{RunID: d.run.ID}, time.Now())
	return err == nil && len(list) >= s.BlockedOnPeople
}

// file serves a virtual file of the run and notes that the guest has read it. The driver
// calls it during a turn.
func (r *Run) file(ctx context.Context, path string) (data []byte, found bool) {
	data, found = pipeline.Files{Run: r.Run}.Serve(ctx, path)
	r.replay.File(path, data, found)
	return data, found
}

// first starts the program in a worker and drives it.
func (d *driver) first(p pipeline.Program) (res *codemode.Result) {
	defer d.contain(&res)
	d.awaitServers(p.Code)
	if err := d.lease(); err != nil {
		return d.failed(d.failureFrom(err))
	}
	return d.drive(d.startProgram(p))
}
