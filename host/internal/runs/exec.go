package runs

import (
	"context"
	"strings"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
)

// Exec is Host.Exec.
func (e *Engine) Exec(ctx context.Context, s codemode.Session, in run.Input) *codemode.Result {
	a := e.Observer.Enter(ctx, toolExec, s)
	return a.End(e.exec(ctx, a, s, in))
}

func (e *Engine) exec(ctx context.Context, a *observe.Entry, s codemode.Session, in run.Input) (res *codemode.Result) {
	defer e.containRefusal(&res)
	settings := e.SettingsOf(s)
	code, language, f := in.Source(settings)
	if f == nil && settings.Disabled {
		f = codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput, "code mode is disabled: set tools.codeMode.enabled to true.")
	}
	var to *view.Access
	if f == nil {
		to, f = e.Views.AccessFor(s, in)
	}
	if f == nil {
		f = e.UsedUp(s)
	}
	if f == nil {
		f = e.enter()
	}
	if f != nil {
		return f.Result()
	}
	defer e.driving.Leave()
	id := in.RunID
	if id == "" {
		var err error
		if id, err = run.NewID(); err != nil {
			return codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "random numbers are not available: %v", err).Result()
		}
	}
	r := e.makeRun(id, s, language, to, e.Pool)
	r.Calls.UseKey(in.IdempotencyKey)
	if in.MaxOutput > 0 {
		r.Settings.MaxOutput = in.MaxOutput
	}
	r.begin(a.Start)
	if f := e.add(r); f != nil {
		return f.Result()
	}
	return r.start(a.Drive(ctx, r.Observed), in, pipeline.Program{Code: code, Language: language, Title: in.Title})
}

// start runs the program to its first result.
func (r *driveRun) start(ctx context.Context, in run.Input, asked pipeline.Program) (res *codemode.Result) {
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

// first starts the program in a worker and drives it.
func (d *driver) first(p pipeline.Program) (res *codemode.Result) {
	defer d.contain(&res)
	d.awaitServers(p.Code)
	if err := d.lease(); err != nil {
		return d.failed(d.failureFrom(err))
	}
	return d.drive(d.startProgram(p))
}

// containRefusal is deferred by calls that may drive a run and have no run yet.
func (e *Engine) containRefusal(res **codemode.Result) {
	if p := recover(); p != nil {
		e.ReportPanic(run.DuringRun, p)
		*res = run.Panicked().Result()
	}
}

// mayStart refuses a program that says itself that it will be suspended while the store
// takes no writes: it would make its effects first. Programs that do not say so may complete.
func (e *driveEnv) mayStart(ctx context.Context, p pipeline.Program) *codemode.Error {
	if !strings.Contains(p.Code, "yield_control") {
		return nil
	}
	f := e.StoreAway(ctx)
	if f != nil {
		f = fault.Add(f, " This one was not started, because it has yield_control in it.")
	}
	return f
}
