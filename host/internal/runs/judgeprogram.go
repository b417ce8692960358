package runs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/wire"
)

// judge shows the program to the hooks and returns it as it is to be run. If they
// ask for a person, driver.held is the program and the run waits for call 0.
func (r *driveRun) judge(ctx context.Context, p program) (program, *codemode.Error) {
	chain := r.env.Hooks()
	if chain.Len() == 0 {
		return p, nil
	}
	p.Command = p.Code
	params, err := jsontext.Marshal(p)
	if err != nil {
		return p, codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "the program cannot be shown to hooks: %v", err)
	}
	pc := r.programCall(params, policy.InputKind(p.Language))
	ruling := chain.Before(ctx, pc, func(before, after json.RawMessage) (json.RawMessage, error) {
		return rewrittenProgram(r.Settings, before, after)
	})
	if b := ruling.Block; b != nil {
		return p, r.programBlocked(ctx, b)
	}
	if err := json.Unmarshal(ruling.Params, &p); err != nil {
		return p, codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "the program that hooks have rewritten cannot be read: %v", err)
	}
	pc.Params, pc.InputKind = ruling.Params, policy.InputKind(p.Language)
	if len(ruling.Asks) == 0 {
		return p, nil
	}
	return p, r.hold(ctx, p, pc, ruling.Asks)
}

// hold makes the run wait for a person before the program starts.
func (r *driveRun) hold(ctx context.Context, p program, pc policy.Call, asks []policy.Ask) *codemode.Error {
	c := &call{run: r.callRun, subject: pc, Entry: &calls.Entry{Call: runstore.Call{Method: calls.MethodExec, Tool: pc.ToolID, Args: pc.Params}}}
	r.Calls.Hold(c.Entry)
	err := c.ask(ctx, asks)
	runObserver{r.callRun}.observeQuestion(c.Entry, c.question)
	if c.question == nil {
		r.Calls.Release(c.Entry)
	}
	switch {
	case err != nil:
		return codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseHost, "%s", c.notAsked(err).Message)
	case c.question == nil:
		return nil
	}
	started := r.Calls.Start([]*calls.Entry{c.Entry})
	r.driver.held = &p
	r.launch(started, nil)
	return nil
}

// startHeld starts a program that was held, if it may start.
func (d *driver) startHeld() (*wire.Report, error) {
	r := d.run
	d.awaitServers(d.held.Code)
	if err := d.lease(); err != nil {
		return nil, err
	}
	c, p := r.Calls.TakeHeld(), d.held
	d.held = nil
	d.image = nil // a record without an image has an empty one
	if !c.OK {
		var denied wire.CallError
		if err := json.Unmarshal(c.Answer, &denied); err != nil {
			return nil, err
		}
		return nil, codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseHost, "%s", denied.Message)
	}
	return d.startProgram(*p)
}

// reviveHeld reads the program of a run that was stored before it started.
func (r *driveRun) reviveHeld(c *calls.Entry) error {
	var p program
	if err := json.Unmarshal(c.Args, &p); err != nil {
		return fmt.Errorf("its program: %w", err)
	}
	r.driver.held, r.Language, r.Code = &p, p.Language, p.Code
	return nil
}

// programBlocked is the failure of a program that a hook has blocked.
func (r *driveRun) programBlocked(ctx context.Context, b *policy.Block) *codemode.Error {
	switch {
	case b.Err != nil && ctx.Err() != nil:
		return codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "code mode run was aborted before its program started.")
	case b.Err != nil:
		r.env.Logger.Error("a hook failed, so the program is blocked", "hook", b.Hook, "run", r.ID, "error", b.Err)
		return codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "code mode exec was blocked before execution, because the hook %q failed.", b.Hook)
	case b.Reason == "":
		return codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseHost, "code mode exec was blocked before execution by the hook %q.", b.Hook)
	}
	return codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseHost, "code mode exec was blocked before execution: %s", b.Reason)
}
