package runs

import (
	"context"
	"encoding/hex"
	"errors"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// info describes the run, unless it has ended.
func (r *driveRun) info() (info codemode.RunInfo, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info = codemode.RunInfo{ID: r.id, Session: r.session, Language: r.language, Status: codemode.RunRunning, Created: r.created, Origin: r.env.Origin}
	info.PendingToolCalls, info.Reason = r.calls.Describe(r.settings.MaxOutput)
	state := r.now()
	if state != stateParked {
		info.Reason = ""
	} else {
		id := r.pool.BuildID()
		info.Status, info.Expires, info.ImageBytes, info.GuestBuild = codemode.RunWaiting, r.expires, r.imageBytes, hex.EncodeToString(id[:])
		_, info.GuestEngine = r.pool.Engine()
	}
	return info, state < stateEnding
}

// goes reports whether a run is over, and waits until this process does nothing more for it.
func (r *driveRun) goes(ctx context.Context) bool {
	if !r.isOver() {
		return false
	}
	select {
	case <-r.gone:
	case <-ctx.Done():
	}
	return true
}

// hasLeft is goes, and reports whether the store may have the run still.
func (r *driveRun) hasLeft(ctx context.Context) bool { return r.goes(ctx) && r.now() == stateLeft }

// leaveIdle lets go of an idle run, unless it has gone on here since.
func (r *driveRun) leaveIdle(as journal.Version) (left bool) {
	r.record.Exclusive(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		left = r.isIdle() && r.record.Version() == as && r.move(stateLeaving)
	})
	if left {
		r.letGo(runstore.ErrClaimed)
	}
	return left
}

// abort ends a run of this process. An active one is ended by its driver. It fails if this
// process has let go of the run instead: another host may go on with it.
func (r *driveRun) abort(ctx context.Context, cause error) *codemode.Error {
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
func (r *driveRun) endActivated(cause error) (f *codemode.Error) {
	defer r.containReopen(&f)
	// With the claim, no other host takes the run from the store before it is gone.
	if err := r.record.EnsureClaim(r.background()); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		return r.stayParked(fault.FromStore(err))
	}
	r.finish(cause)
	return r.notEnded()
}

// redrive brings the calls of a revived run to where the host that stopped left
// them. What was in flight is made again if that is harmless, else it rejects:
// nothing is silently repeated or lost.
func (r *driveRun) redrive() {
	held := r.calls.UnholdAll()
	started, lost := r.calls.Redrive(r.mayRepeat)
	runObserver{r.callRun}.observeInterrupted(lost)
	for _, c := range held { // their tools, which waited for answers, are gone
		r.env.cancelApproval(r.background(), c.Held)
		r.observed.ApprovalCancelled(observe.Approval{ID: c.Held, CallID: calls.PublicID(&c), Method: c.Method, ToolID: c.Tool, Decision: string(policy.StateCancelled)})
	}
	r.launch(started, r.record.Journal(r.background()))
}

// mayRepeat reports whether it is harmless to make a call again that was in flight when
// its host stopped.
func (r *driveRun) mayRepeat(c *calls.Entry) bool {
	switch c.Method {
	case calls.MethodExec, string(wire.MethodProgram): // the program has not started
		return true
	}
	tool, ok := r.view().Catalog.ByID(c.Tool)
	return ok && (tool.ReadOnly || tool.Idempotent || r.access.Client.Asks(c.Tool))
}

func (r *driveRun) setLanguage(language string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.language = language
}

// refreshView resolves the view of a run that resumes.
func (r *driveRun) refreshView() {
	before := r.view()
	if err := r.env.Views.ResolveView(r.access); err != nil {
		r.env.Logger.Error("the tools of a resumed run were not brought up to date", "run", r.id, "error", err)
		return
	}
	now := r.view()
	if now == before || now.Catalog.Fingerprint() == before.Catalog.Fingerprint() {
		return
	}
	r.changed.Store(true)
}

// canAdvance reports whether a run is parked here and there is something to deliver to its guest.
func (r *driveRun) canAdvance() bool {
	if r.now() != stateParked {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now() == stateParked && (r.calls.Status().Deliverable || r.driver.timerIsDue())
}

// driveUnattended drives a run that this process has made active on behalf of no caller, and returns
// the driver. Where the run ends, the store keeps its result.
func (r *driveRun) driveUnattended(ctx context.Context, rec *runstore.Record, kept *Delivery) (d *driver) {
	var res *codemode.Result
	a := r.env.Observer.Enter(ctx, toolAdvance, r.session)
	defer func() { a.End(res) }()
	defer r.contain(&res)
	d = r.begin(a.Start)
	d.unattended, d.delivery = true, kept
	ctx = a.Drive(ctx, r.observed)
	r.observed.Resumed(ctx, d.started)
	ctx, stop := r.joined(ctx)
	defer stop()
	res = d.resume(ctx, rec, r.env.Times.AdvancePatience)
	return d
}

// toolAdvance is what observers see in the place of the model's own tool.
const toolAdvance = "advance"
