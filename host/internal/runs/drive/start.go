package drive

import (
	"context"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/internal/wire"
)

// Start runs the program to its first result.
func (r *Run) Start(ctx context.Context, in run.Input, asked pipeline.Program) (res *codemode.Result) {
	defer r.contain(&res)
	ctx, stop := r.Joined(ctx)
	defer stop()
	r.DrivenBy(ctx)
	p, f := r.driver.judge(ctx, asked)
	in.Title = p.Title
	r.Mu.Lock()
	r.Language = p.Language
	r.Mu.Unlock()
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

// judge shows the program to the hooks and returns it as it is to be run. If they ask for a
// person, the program is held.
func (d *driver) judge(ctx context.Context, p pipeline.Program) (pipeline.Program, *codemode.Error) {
	p, held, f := d.run.JudgeProgram(ctx, p)
	if len(held) > 0 {
		d.held = &p
		d.run.launch(held, nil)
	}
	return p, f
}

// TakeReport handles a report as if a worker had sent it for a new run, and ends the run. A
// panic is not contained. It is for tests.
func (r *Run) TakeReport(rep *wire.Report) codemode.Telemetry {
	r.NewDriver(time.Now())
	r.driver.limit(r.Context, time.Minute, time.Minute)
	res := r.driver.handleReport(rep)
	if res == nil {
		res = r.driver.failed(codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "the test is over"))
	}
	return res.Telemetry
}
