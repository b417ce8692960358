package runs

import (
	"context"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
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
	r := e.NewRun(id, s, language, to, e.Pool)
	r.Calls.UseKey(in.IdempotencyKey)
	if in.MaxOutput > 0 {
		r.Settings.MaxOutput = in.MaxOutput
	}
	r.NewDriver(a.Start)
	if f := e.add(r); f != nil {
		return f.Result()
	}
	return r.Start(a.Drive(ctx, r.Observed), in, pipeline.Program{Code: code, Language: language, Title: in.Title})
}

// containRefusal is deferred by calls that may drive a run and have no run yet.
func (e *Engine) containRefusal(res **codemode.Result) {
	if p := recover(); p != nil {
		e.ReportPanic(run.DuringRun, p)
		*res = run.Panicked().Result()
	}
}
