package drive

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Info describes the run, unless it has ended.
func (r *Run) Info() (info codemode.RunInfo, ok bool) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	info = codemode.RunInfo{ID: r.ID, Session: r.Session, Language: r.Language, Status: codemode.RunRunning, Created: r.Created, Origin: r.env.Origin}
	info.PendingToolCalls, info.Reason = r.Calls.Describe(r.Settings.MaxOutput)
	state := r.Now()
	if state != run.Parked {
		info.Reason = ""
	} else {
		id := r.pool.BuildID()
		info.Status, info.Expires, info.ImageBytes, info.GuestBuild = codemode.RunWaiting, r.Expires, r.ImageBytes, hex.EncodeToString(id[:])
		_, info.GuestEngine = r.pool.Engine()
	}
	return info, state < run.Ending
}

// goes reports whether a run is over, and waits until this process does nothing more for it.
func (r *Run) goes(ctx context.Context) bool {
	if !r.IsOver() {
		return false
	}
	select {
	case <-r.Gone:
	case <-ctx.Done():
	}
	return true
}

// HasLeft is goes, and reports whether the store may have the run still.
func (r *Run) HasLeft(ctx context.Context) bool { return r.goes(ctx) && r.Now() == run.Left }

// LeaveIdle lets go of an idle run, unless it has gone on here since.
func (r *Run) LeaveIdle(as journal.Version) (left bool) {
	r.Record.Exclusive(func() {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		left = r.IsIdle() && r.Record.Version() == as && r.Move(run.Leaving)
	})
	if left {
		r.letGo(runstore.ErrClaimed)
	}
	return left
}

// Abort ends a run of this process. An active one is ended by its driver. It fails if this
// process has let go of the run instead: another host may go on with it.
func (r *Run) Abort(ctx context.Context, cause error) *codemode.Error {
	for {
		f := r.activate()
		switch {
		case f == nil:
			return r.endActivated(cause)
		case f.Reason != codemode.ReasonRunBusy:
			return f
		case r.CancelIfActive(cause):
			select {
			case <-r.Gone:
				return r.notEnded()
			case <-ctx.Done():
				return nil
			}
		}
		// It has been parked since.
	}
}

// endActivated ends a run that activate has taken out of its park.
func (r *Run) endActivated(cause error) (f *codemode.Error) {
	defer r.ContainReopen(&f)
	// With the claim, no other host takes the run from the store before it is gone.
	if err := r.Record.EnsureClaim(r.Background()); err != nil && !errors.Is(err, runstore.ErrNotFound) {
		return r.stayParked(fault.FromStore(err))
	}
	r.finish(cause)
	return r.notEnded()
}

// Redrive brings the calls of a revived run to where the host that stopped left
// them. What was in flight is made again if that is harmless, else it rejects:
// nothing is silently repeated or lost.
func (r *Run) Redrive() {
	held := r.Calls.UnholdAll()
	started, lost := r.Calls.Redrive(r.mayRepeat)
	pipeline.Observer{Run: r.Run}.ObserveInterrupted(lost)
	for _, c := range held { // their tools, which waited for answers, are gone
		r.env.CancelApproval(r.Background(), c.Held)
		r.Observed.ApprovalCancelled(observe.Approval{ID: c.Held, CallID: calls.PublicID(&c), Method: c.Method, ToolID: c.Tool, Decision: string(policy.StateCancelled)})
	}
	r.launch(started, r.Record.Journal(r.Background()))
}

// mayRepeat reports whether it is harmless to make a call again that was in flight when
// its host stopped.
func (r *Run) mayRepeat(c *calls.Entry) bool {
	switch c.Method {
	case calls.MethodExec, string(wire.MethodProgram): // the program has not started
		return true
	}
	tool, ok := r.View().Catalog.ByID(c.Tool)
	return ok && (tool.ReadOnly || tool.Idempotent || r.Access.Client.Asks(c.Tool))
}

func (r *Run) setLanguage(language string) {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	r.Language = language
}

// refreshView resolves the view of a run that resumes.
func (r *Run) refreshView() {
	before := r.View()
	if err := r.env.Views.ResolveView(r.Access); err != nil {
		r.env.Logger.Error("the tools of a resumed run were not brought up to date", "run", r.ID, "error", err)
		return
	}
	now := r.View()
	if now == before || now.Catalog.Fingerprint() == before.Catalog.Fingerprint() {
		return
	}
	r.Changed.Store(true)
}

// CanAdvance reports whether a run is parked here and there is something to deliver to its guest.
func (r *Run) CanAdvance() bool {
	if r.Now() != run.Parked {
		return false
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	return r.Now() == run.Parked && (r.Calls.Status().Deliverable || r.driver.timerIsDue())
}

// DriveUnattended drives a run that this process has made active on behalf of no caller. It
// reports whether it got as far as there was something to deliver; if not, the failure may say
// why. Where the run ends, the store keeps its result.
func (r *Run) DriveUnattended(ctx context.Context, rec *runstore.Record, kept *Delivery) (advanced bool, _ *codemode.Error) {
	d := r.unattended(ctx, rec, kept)
	if cause := r.Record.GaveUp(); cause != nil {
		return false, fault.FromStore(cause)
	}
	return d.ran || d.couldNot == nil && !r.CanAdvance(), d.couldNot
}

func (r *Run) unattended(ctx context.Context, rec *runstore.Record, kept *Delivery) (d *driver) {
	var res *codemode.Result
	a := r.env.Observer.Enter(ctx, toolAdvance, r.Session)
	defer func() { a.End(res) }()
	defer r.contain(&res)
	d = r.Begin(a.Start)
	d.unattended, d.delivery = true, kept
	ctx = a.Drive(ctx, r.Observed)
	r.Observed.Resumed(ctx, d.started)
	ctx, stop := r.Joined(ctx)
	defer stop()
	res = d.resume(ctx, rec, r.env.Times.AdvancePatience)
	return d
}

// toolAdvance is what observers see in the place of the model's own tool.
const toolAdvance = "advance"

// Start runs the program to its first result.
func (r *Run) Start(ctx context.Context, in run.Input, asked pipeline.Program) (res *codemode.Result) {
	defer r.contain(&res)
	ctx, stop := r.Joined(ctx)
	defer stop()
	r.DrivenBy(ctx)
	p, f := r.judge(ctx, asked)
	in.Title = p.Title
	r.setLanguage(p.Language)
	if in.IdempotencyKey == "" { // else the host has written it, and there is nothing to save
		r.Code, r.Title = p.Code, p.Title
	}
	r.Observed.Started(p.Code, r.Language, in.Title, p.Code != asked.Code, r.driver.started)
	if f == nil {
		f = r.env.mayStart(ctx, p)
	}
	if f != nil {
		return r.driver.failed(f)
	}
	r.driver.limit(ctx, r.Settings.ComputeTime(in.Timeout), r.Settings.WaitTime(in.Wait))
	if r.driver.held != nil {
		return r.driver.goOn()
	}
	return r.driver.first(p)
}

// mayStart refuses a program that says itself that it will be suspended while the store
// takes no writes: it would make its effects first. Programs that do not say so may complete.
func (e *Env) mayStart(ctx context.Context, p pipeline.Program) *codemode.Error {
	if !strings.Contains(p.Code, "yield_control") {
		return nil
	}
	f := e.StoreAway(ctx)
	if f != nil {
		f = fault.Add(f, " This one was not started, because it has yield_control in it.")
	}
	return f
}

// HoldsImage reports whether the run has its image in memory, apart from its store. It is for
// tests.
func (r *Run) HoldsImage() bool { return r.driver.image != nil }

// TakeReport handles a report as if a worker had sent it for a new run, and ends the run. A
// panic is not contained. It is for tests.
func (r *Run) TakeReport(rep *wire.Report) codemode.Telemetry {
	r.Begin(time.Now())
	r.driver.limit(r.Context, time.Minute, time.Minute)
	res := r.driver.handleReport(rep)
	if res == nil {
		res = r.driver.failed(codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "the test is over"))
	}
	return res.Telemetry
}

// Wait drives a run that this host has made active. The result is delivered by d, if that is not nil.
func (r *Run) Wait(ctx context.Context, a *observe.Entry, rec *runstore.Record, wait time.Duration, d *Delivery) (res *codemode.Result) {
	defer r.contain(&res)
	r.Begin(a.Start).delivery = d
	ctx = a.Drive(ctx, r.Observed)
	r.Observed.Resumed(ctx, r.driver.started)
	ctx, stop := r.Joined(ctx)
	defer stop()
	r.DrivenBy(ctx)
	return r.driver.resume(ctx, rec, wait)
}
