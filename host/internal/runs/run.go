package runs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/namespaces"
)

// run is one cell from Exec to its end, across any number of Waits. It consists of
//
//   - what it is: the fields below;
//   - its lifecycle: one state, see state.go;
//   - its calls: see calls.go;
//   - its record in the store: see record.go;
//   - its driver, which belongs to the goroutine that has made it active: see driver.go.
//
// Its tool calls run on goroutines of their own in every state.
type run struct {
	engine   *Engine
	observed *observe.Run
	id       string
	session  codemode.Session
	language string            // guarded by lifecycle.mu
	settings codemode.Settings // of its agent
	access   *view.Access
	pool     *guestrt.Pool // of the build of the guest that its images belong to
	created  time.Time
	// idleSince is when the guest has run last, or the run came to this process; the driver's own.
	idleSince time.Time

	// ctx ends with the run. Tool calls run under it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// request is the context of the newest Exec or Wait. Calls have its values.
	request atomic.Pointer[context.Context]

	lifecycle
	calls  *calls.Table
	record *journal.Record
	replay *replay.Log // the driver's own; nil: the run needs no log
	driver *driver
	scopes scopes

	code    string // of the program, where this process has it
	title   string
	saved   savedPrograms
	used    usedTools
	effects *journal.Effects
	changed atomic.Bool   // the tools have changed since the run was suspended
	wake    chan struct{} // capacity 1: the driver should look at the calls

	waiting   atomic.Pointer[driver] // has released its lock
	arrived   atomic.Bool            // a call has settled since a goroutine with the lock last looked
	unstarted atomic.Int32           // calls that goroutines are about to perform
}

// A run id is runPrefix and 128 random bits in hexadecimal.
const runPrefix = "run_"

func isRunID(id string) bool {
	digits, ok := strings.CutPrefix(id, runPrefix)
	if b, err := hex.DecodeString(digits); !ok || err != nil || len(b) != 16 {
		return false
	}
	return true
}

// newRunID makes the id of a run.
func newRunID() (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", err
	}
	return runPrefix + hex.EncodeToString(id[:]), nil
}

// makeRun makes an active run.
func (e *Engine) makeRun(id string, s codemode.Session, language string, to *view.Access) *run {
	r := &run{
		engine:    e,
		id:        id,
		session:   s,
		observed:  e.Observer.Run(id, s),
		language:  language,
		settings:  e.SettingsOf(s),
		access:    to,
		pool:      e.Pool,
		created:   time.Now(),
		idleSince: e.clock.Now(),
		wake:      make(chan struct{}, 1),
		lifecycle: lifecycle{gone: make(chan struct{})},
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.driver = &driver{run: r}
	r.calls = calls.New(id, int(r.settings.MaxPendingCalls), &e.performing, &e.Times, calls.Account{
		Held: e.meters.held, Suspended: e.meters.suspended, Stored: e.meters.stored, CPU: e.meters.cpu, Owner: quota.OwnerOf(s),
		Denied: func(d *quota.Denied) { e.ReportDenied(s, d) },
	})
	if !e.volatile() {
		r.replay = &replay.Log{Room: &e.replayRoom}
	}
	r.effects = journal.NewEffects(e.Store, id, e.countFenced, r.effectHeader)
	r.record = journal.New(id, e.Store, e.compactAfter, e.Logger, r.calls, e.recordOwner(r))
	return r
}

func (e *Engine) recordOwner(r *run) journal.Owner {
	return journal.Owner{
		Describe: r.describe, Identify: r.identify, Dropped: r.effects.Close, LeftDue: func() { e.leftDue(r.id) },
		Lost: func() { go r.leaveGivenUp() }, CountFenced: e.countFenced, Later: e.untilDone,
	}
}

// notify wakes the driver, if one is waiting.
func (r *run) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// finish ends the run. No call of it goes on and nothing of it stays stored.
func (r *run) finish(cause error) { r.finishWith(cause, func() *codemode.Result { return nil }) }

// finishWith is finish for a run whose result is wanted. The store keeps the result if
// it is to be delivered.
func (r *run) finishWith(cause error, result func() *codemode.Result) (res *codemode.Result) {
	if cause := r.record.GaveUp(); cause != nil {
		r.letGo(cause)
		return r.givenUpResult()
	}
	defer r.finishMove() // a wait that finds the run until it is removed waits for that
	defer r.engine.remove(r)
	questions := r.stop(stateEnding, cause)
	res = result()
	r.record.Exclusive(func() {
		defer r.record.DropClaim()
		if len(questions) > 0 {
			defer r.engine.holdID(r.background(), r.id)()
		}
		if !r.keepResult(res) {
			r.record.Forget(r.background())
		}
		if r.record.GaveUp() == nil {
			r.engine.cancelApprovals(r.background(), questions)
		}
	})
	if r.record.GaveUp() != nil {
		return r.givenUpResult()
	}
	r.engine.recent.add(r.id, r.session, withRun(recentFailure(cause), r))
	r.observed.Ended(fault.FromCause(cause), r.usage)
	return res
}

// letGo ends what the run does in this process and leaves the store as it is.
func (r *run) letGo(cause error) {
	defer r.finishMove()
	r.stop(stateLeaving, cause)
	r.engine.remove(r)
	r.record.DropClaim()
}

// stop ends what the run does in this process; the caller removes it. It closes the
// table of calls before it cancels the calls, so that no call records its cancellation
// as an answer. It returns the calls that wait for approval.
func (r *run) stop(to runState, cause error) (onApproval []runstore.Call) {
	r.moveTo(to)
	onApproval = r.calls.Close()
	r.replay.Drop()
	r.cancel(cause)
	return onApproval
}

// aborted is the failure of a run whose context has ended.
func (r *run) aborted() *codemode.Error {
	var own *codemode.Error // of a call that panicked
	if errors.As(context.Cause(r.ctx), &own) {
		return own
	}
	return codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "code mode run was aborted: %v", context.Cause(r.ctx))
}

// cancelIfActive cancels a run that is being driven. Its driver then ends it. It
// reports whether the run is being driven.
func (r *run) cancelIfActive(cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now() == stateActive {
		r.cancel(cause)
		return true
	}
	return false
}

// dropIdleClaim drops the claim of a parked run that has no calls in flight here. A
// goroutine that activates the run afterwards finds the claim free; one that has
// activated it before finds it held.
func (r *run) dropIdleClaim() {
	if r.now() != stateParked {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now() == stateParked && r.calls.Idle() {
		r.record.DropClaim()
	}
}

// background is the context of a call's bookkeeping. It goes on when the run has been
// cancelled.
func (r *run) background() context.Context { return context.WithoutCancel(r.ctx) }

// runContext is what a plugin learns about the run.
func (r *run) runContext(pluginID string) namespaces.RunContext {
	return namespaces.RunContext{
		AgentID:    r.session.AgentID,
		SessionKey: r.session.SessionKey,
		SessionID:  r.session.SessionID,
		RunID:      r.id,
		TurnID:     r.session.TurnID,
		Config:     r.engine.PluginConfig[pluginID],
	}
}

// asPolicySession is the session as hooks see it.
func asPolicySession(s codemode.Session) codemode.Session {
	return codemode.Session{AgentID: s.AgentID, SessionKey: s.SessionKey, SessionID: s.SessionID, TurnID: s.TurnID}
}

// scopes are the scopes of the namespaces that a run has used. The zero value is ready.
type scopes struct {
	mu   calls.CountedMutex
	byID map[string]*namespaces.Scope

	declared map[string]*scopeDeclaration // files of namespaces; the driver's own
}

// get returns the scope of a namespace, or nil.
func (s *scopes) get(id string) *namespaces.Scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// put adds the scope of a namespace.
func (s *scopes) put(id string, scope *namespaces.Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string]*namespaces.Scope)
	}
	s.byID[id] = scope
}

// encoded returns the scopes as a record holds them.
func (s *scopes) encoded(failed func(id string, err error)) map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]json.RawMessage, len(s.byID))
	for id, scope := range s.byID {
		b, err := scope.MarshalJSON()
		if err != nil {
			failed(id, err)
			continue
		}
		out[id] = b
	}
	return out
}

// abort ends a run of this process. An active one is ended by its driver. It fails if this
// process has let go of the run instead: another host may go on with it.
func (r *run) abort(ctx context.Context, cause error) *codemode.Error {
	for {
		f := r.activate()
		switch {
		case f == nil:
			return r.endActivated(cause)
		case f.Reason != codemode.ReasonRunBusy:
			return f
		case r.cancelIfActive(cause):
			select {
			case <-r.gone:
				return r.notEnded()
			case <-ctx.Done():
				return nil
			}
		}
		// It has been parked since.
	}
}

// endActivated ends a run that activate has taken out of its park.
func (r *run) endActivated(cause error) (f *codemode.Error) {
	defer r.containReopen(&f)
	// With the claim, no other host takes the run from the store before it is gone.
	if err := r.record.EnsureClaim(r.background()); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		return r.stayParked(fault.FromStore(err))
	}
	r.finish(cause)
	return r.notEnded()
}

// activate makes the caller the run's driver, once the run is parked.
func (r *run) activate() (f *codemode.Error) {
	r.record.Exclusive(func() { // a park in progress ends first
		switch {
		case r.moveTo(stateActive):
		case r.isOver():
			f = fault.FromStore(runstore.ErrNotFound)
		default:
			f = fault.AlreadyDriven()
		}
	})
	return f
}

// stayParked undoes activate because of f: the run waits on as it did. A run that was
// aborted meanwhile ends instead.
func (r *run) stayParked(f *codemode.Error) *codemode.Error {
	if r.markParked(r.driver.expiresAfter(time.Now()), r.imageBytes) {
		return f
	}
	return r.endUnparked()
}

// endUnparked ends a run that was to be parked and has been cancelled, and says what has
// become of it. A host that closes leaves the record to the next one, and one that does not
// get the claim to the one that has it.
func (r *run) endUnparked() *codemode.Error {
	cause := context.Cause(r.ctx)
	if errors.Is(cause, codemode.ErrClosed) {
		r.letGo(cause)
		return r.aborted()
	}
	if err := r.record.EnsureClaim(r.background()); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		r.letGo(err)
		return fault.FromStore(err)
	}
	r.finish(cause)
	if f := r.notEnded(); f != nil {
		return f
	}
	return r.aborted()
}

// joined returns a context that ends with ctx or with the run.
func (r *run) joined(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// keepResult stores the result of a run of the store that has ended, if it is to be
// delivered, and hands the run's claim to the delivery. The caller runs it
// in record.exclusive.
func (r *run) keepResult(res *codemode.Result) (kept bool) {
	if r.driver.delivery == nil || !r.record.IsStored() || res == nil || r.driver.unattended && r.endedByCaller() {
		return false
	}
	var claim runstore.Claim
	b, err := res.MarshalJSON()
	if err == nil {
		// Who was told until when the run is kept finds its result until then.
		claim, err = r.record.End(r.background(), &runstore.Ended{
			ID: r.id, Session: r.session, Expires: calls.Later(r.driver.keptUntil, time.Now().Add(r.settings.SnapshotTTL)), Result: b,
		})
	}
	if errors.Is(err, runstore.ErrFenced) {
		return false
	}
	if err != nil {
		if fault.MayBeWritten(err) { // else the caller would have a result of a run that goes on
			r.record.GiveUp(err)
			return false
		}
		r.engine.Logger.Error("the result of a run was not stored: it is lost unless it arrives", "run", r.id, "error", err)
		return r.driver.unattended // its record stays, so that the run can go on from there
	}
	d := r.driver.delivery
	d.runID, d.stored, d.claim = r.id, true, claim
	return true
}

// callJob is a call that has a slot of its run.
type callJob struct {
	run  *run
	call *calls.Entry
	lost error // why the store does not know of the call, which is then not made
}

// perform performs the call. It returns those to perform next on this goroutine.
func (j callJob) perform() (next []callJob) {
	r := j.run
	if r.unstarted.Add(-1) == 0 && r.arrived.Load() {
		r.notify() // this call may take long, and others have left their answers to it
	}
	if next = r.perform(j.call, j.lost); len(next) > 0 {
		r.arrived.Store(true)
		return next
	}
	return r.settled()
}

// launch performs calls that have a slot. If the store could not be told of them, the
// error says why.
func (r *run) launch(started []*calls.Entry, lost error) {
	r.engine.callWorkers.perform(r.jobs(started, lost))
}

// jobs are calls that are about to be performed. If it is not known whether the store has
// them, they are neither made nor rejected: the run is given up, also where no call has
// a slot yet.
func (r *run) jobs(started []*calls.Entry, lost error) []callJob {
	if fault.MayBeWritten(lost) {
		r.record.GiveUp(lost)
		r.engine.performing.LeaveN(len(started))
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

// view is what the run reaches now.
func (r *run) view() *view.View { return r.access.View.Load() }
