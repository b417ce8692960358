package drive

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
)

// Run is one cell from Exec to its end, across any number of Waits, with what drives its
// guest. The driver belongs to the goroutine that has made the run active.
type Run struct {
	*pipeline.Run
	env  *Env
	pool *guestrt.Pool // of the build of the guest that its images belong to
	// idleSince is when the guest has run last, or the run came to this process; the driver's own.
	idleSince time.Time

	replay *replay.Log // the driver's own; nil: the run needs no log
	driver *driver

	waiting   atomic.Pointer[driver] // has released its lock
	arrived   atomic.Bool            // a call has settled since a goroutine with the lock last looked
	unstarted atomic.Int32           // calls that goroutines are about to perform
}

// Env is what the drivers of all runs of a host share.
type Env struct {
	*pipeline.Env
	Home        Home
	callWorkers *callWorkers[callJob]
	lostWorkers lostWorkers
	replayRoom  atomic.Int64  // bytes that logs of runs may still take
	Parking     chan struct{} // closed when runs are to be parked as soon as they can
}

// Home is what a driver asks of the engine that the run belongs to.
type Home interface {
	// IsClosing reports whether the host lets nothing new in.
	IsClosing() bool
	// Remove forgets a run of this process.
	Remove(*Run)
	// Remember notes what a wait for a run is told that has ended.
	Remember(id string, s codemode.Session, why *codemode.Error)
	// LeftDue tells other hosts of a run that can go on and that this one is about to release.
	LeftDue(id string)
	// LetGoOfMoved lets go of runs that other processes have, and reports whether it did since a moment.
	LetGoOfMoved(ctx context.Context, since time.Time) (moved bool, err error)
	// KeepBuild keeps the build of a guest that a stored run needs.
	KeepBuild(ctx context.Context, pool *guestrt.Pool)
}

// NewEnv returns an environment without a home.
func NewEnv(base *run.Env) *Env {
	e := &Env{Env: &pipeline.Env{Env: base}, Parking: make(chan struct{})}
	e.replayRoom.Store(replay.MaxLogs)
	e.callWorkers = newCallWorkers(base.Life.Done(), callJob.perform)
	return e
}

// NewRun makes an active run of a guest in a pool.
func (e *Env) NewRun(id string, s codemode.Session, language string, to *view.Access, pool *guestrt.Pool) *Run {
	r := &Run{Run: pipeline.New(e.Env, run.New(e.Env.Env, id, s, language, to)), env: e, pool: pool, idleSince: e.Clock.Now()}
	r.driver = &driver{run: r}
	if !e.Volatile() {
		r.replay = &replay.Log{Room: &e.replayRoom}
	}
	r.Record = journal.New(id, e.Store, e.CompactAfter, e.Logger, r.Calls, e.RecordOwner(r))
	return r
}

func (e *Env) RecordOwner(r *Run) journal.Owner {
	return journal.Owner{
		Describe: r.describe, Identify: r.Identify, Dropped: r.Effects.Close, LeftDue: func() { e.Home.LeftDue(r.ID) },
		Lost: func() { go r.leaveGivenUp() }, CountFenced: e.CountFenced, Later: e.UntilDone,
	}
}

// finish ends the run. No call of it goes on and nothing of it stays stored.
func (r *Run) finish(cause error) { r.finishWith(cause, func() *codemode.Result { return nil }) }

// finishWith is finish for a run whose result is wanted. The store keeps the result if
// it is to be delivered.
func (r *Run) finishWith(cause error, result func() *codemode.Result) (res *codemode.Result) {
	if cause := r.Record.GaveUp(); cause != nil {
		r.letGo(cause)
		return r.givenUpResult()
	}
	defer r.FinishMove() // a wait that finds the run until it is removed waits for that
	defer r.env.Home.Remove(r)
	questions := r.Stop(run.Ending, cause)
	res = result()
	r.Record.Exclusive(func() {
		defer r.Record.DropClaim()
		if len(questions) > 0 {
			defer r.env.HoldID(r.Background(), r.ID)()
		}
		if !r.keepResult(res) {
			r.Record.Forget(r.Background())
		}
		if r.Record.GaveUp() == nil {
			r.env.CancelApprovals(r.Background(), questions)
		}
	})
	if r.Record.GaveUp() != nil {
		return r.givenUpResult()
	}
	r.env.Home.Remember(r.ID, r.Session, WithRun(fault.Ended(cause), r))
	r.Observed.Ended(fault.FromCause(cause), r.usage)
	return res
}

// letGo ends what the run does in this process and leaves the store as it is.
func (r *Run) letGo(cause error) {
	defer r.FinishMove()
	r.Stop(run.Leaving, cause)
	r.env.Home.Remove(r)
	r.Record.DropClaim()
}

// Stop ends what the run does in this process; the caller removes it. It closes the
// table of calls before it cancels the calls, so that no call records its cancellation
// as an answer. It returns the calls that wait for approval.
func (r *Run) Stop(to run.State, cause error) (onApproval []runstore.Call) {
	r.MoveTo(to)
	onApproval = r.Calls.Close()
	r.replay.Drop()
	r.Cancel(cause)
	return onApproval
}

// asPolicySession is the session as hooks see it.
func asPolicySession(s codemode.Session) codemode.Session {
	return codemode.Session{AgentID: s.AgentID, SessionKey: s.SessionKey, SessionID: s.SessionID, TurnID: s.TurnID}
}

// activate makes the caller the run's driver, once the run is parked.
func (r *Run) activate() (f *codemode.Error) {
	r.Record.Exclusive(func() { // a park in progress ends first
		switch {
		case r.MoveTo(run.Active):
		case r.IsOver():
			f = fault.FromStore(runstore.ErrNotFound)
		default:
			f = fault.AlreadyDriven()
		}
	})
	return f
}

// stayParked undoes activate because of f: the run waits on as it did. A run that was
// aborted meanwhile ends instead.
func (r *Run) stayParked(f *codemode.Error) *codemode.Error {
	if r.MarkParked(r.driver.expiresAfter(time.Now()), r.ImageBytes) {
		return f
	}
	return r.EndUnparked()
}

// EndUnparked ends a run that was to be parked and has been cancelled, and says what has
// become of it. A host that closes leaves the record to the next one, and one that does not
// get the claim to the one that has it.
func (r *Run) EndUnparked() *codemode.Error {
	cause := context.Cause(r.Context)
	if errors.Is(cause, codemode.ErrClosed) {
		r.letGo(cause)
		return r.Aborted()
	}
	if err := r.Record.EnsureClaim(r.Background()); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		r.letGo(err)
		return fault.FromStore(err)
	}
	r.finish(cause)
	if f := r.notEnded(); f != nil {
		return f
	}
	return r.Aborted()
}

// keepResult stores the result of a run of the store that has ended, if it is to be
// delivered, and hands the run's claim to the delivery. The caller runs it
// in record.exclusive.
func (r *Run) keepResult(res *codemode.Result) (kept bool) {
	if r.driver.delivery == nil || !r.Record.IsStored() || res == nil || r.driver.unattended && r.EndedByCaller() {
		return false
	}
	var claim runstore.Claim
	b, err := res.MarshalJSON()
	if err == nil {
		// Who was told until when the run is kept finds its result until then.
		claim, err = r.Record.End(r.Background(), &runstore.Ended{
			ID: r.ID, Session: r.Session, Expires: calls.Later(r.driver.keptUntil, time.Now().Add(r.Settings.SnapshotTTL)), Result: b,
		})
	}
	if errors.Is(err, runstore.ErrFenced) {
		return false
	}
	if err != nil {
		if fault.MayBeWritten(err) { // else the caller would have a result of a run that goes on
			r.Record.GiveUp(err)
			return false
		}
		r.env.Logger.Error("the result of a run was not stored: it is lost unless it arrives", "run", r.ID, "error", err)
		return r.driver.unattended // its record stays, so that the run can go on from there
	}
	r.driver.delivery.Keep(r.ID, claim)
	return true
}

// callJob is a call that has a slot of its run.
type callJob struct {
	run  *Run
	call *calls.Entry
	lost error // why the store does not know of the call, which is then not made
}

// perform performs the call. It returns those to perform next on this goroutine.
func (j callJob) perform() (next []callJob) {
	r := j.run
	if r.unstarted.Add(-1) == 0 && r.arrived.Load() {
		r.Notify() // this call may take long, and others have left their answers to it
	}
	if next = r.performJob(j); len(next) > 0 {
		r.arrived.Store(true)
		return next
	}
	return r.settled()
}

// performJob has the call pass its stages, with a slot of the run taken, and returns the calls
// that have got slots.
func (r *Run) performJob(j callJob) []callJob {
	defer r.env.Performing.Leave()
	defer r.containCall(j.call)
	return r.jobs(r.Perform(j.call, j.lost))
}

// launch performs calls that have a slot. If the store could not be told of them, the
// error says why.
func (r *Run) launch(started []*calls.Entry, lost error) {
	r.env.callWorkers.perform(r.jobs(started, lost))
}

// jobs are calls that are about to be performed. If it is not known whether the store has
// them, they are neither made nor rejected: the run is given up, also where no call has
// a slot yet.
func (r *Run) jobs(started []*calls.Entry, lost error) []callJob {
	if fault.MayBeWritten(lost) {
		r.Record.GiveUp(lost)
		r.env.Performing.LeaveN(len(started))
		return nil
	}
	if len(started) == 0 {
		return nil
	}
	r.unstarted.Add(int32(len(started)))
	out := make([]callJob, len(started))
	for i, c := range started {
		out[i] = callJob{r, c, lost}
	}
	return out
}
