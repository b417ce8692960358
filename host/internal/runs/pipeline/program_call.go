package pipeline

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// JudgeProgram shows the program to the hooks and returns it as it is to be run. If they
// ask for a person, the program is held: the run waits for call 0, which has a slot.
func (r *Run) JudgeProgram(ctx context.Context, p Program) (_ Program, held []*calls.Entry, _ *codemode.Error) {
	chain := r.Env.Hooks()
	if chain.Len() == 0 {
		return p, nil, nil
	}
	p.Command = p.Code
	params, err := jsontext.Marshal(p)
	if err != nil {
		return p, nil, codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "the program cannot be shown to hooks: %v", err)
	}
	pc := r.programCall(params, policy.InputKind(p.Language))
	ruling := chain.Before(ctx, pc, func(before, after json.RawMessage) (json.RawMessage, error) {
		return rewrittenProgram(r.Settings, before, after)
	})
	if b := ruling.Block; b != nil {
		return p, nil, r.programBlocked(ctx, b)
	}
	if err := json.Unmarshal(ruling.Params, &p); err != nil {
		return p, nil, codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "the program that hooks have rewritten cannot be read: %v", err)
	}
	pc.Params, pc.InputKind = ruling.Params, policy.InputKind(p.Language)
	if len(ruling.Asks) == 0 {
		return p, nil, nil
	}
	held, f := r.hold(ctx, pc, ruling.Asks)
	return p, held, f
}

// hold makes the run wait for a person before the program starts.
func (r *Run) hold(ctx context.Context, pc policy.Call, asks []policy.Ask) ([]*calls.Entry, *codemode.Error) {
	c := &call{run: r, subject: pc, Entry: &calls.Entry{Call: runstore.Call{Method: calls.MethodExec, Tool: pc.ToolID, Args: pc.Params}}}
	r.Calls.Hold(c.Entry)
	err := c.ask(ctx, asks)
	Observer{r}.observeQuestion(c.Entry, c.consent.question)
	if c.consent.question == nil {
		r.Calls.Release(c.Entry)
	}
	switch {
	case err != nil:
		return nil, codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseHost, "%s", c.notAsked(err).Message)
	case c.consent.question == nil:
		return nil, nil
	}
	return r.Calls.Start([]*calls.Entry{c.Entry}), nil
}

// programBlocked is the failure of a program that a hook has blocked.
func (r *Run) programBlocked(ctx context.Context, b *policy.Block) *codemode.Error {
	switch {
	case b.Err != nil && ctx.Err() != nil:
		return codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "code mode run was aborted before its program started.")
	case b.Err != nil:
		r.Env.Logger.Error("a hook failed, so the program is blocked", "hook", b.Hook, "run", r.ID, "error", b.Err)
		return codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "code mode exec was blocked before execution, because the hook %q failed.", b.Hook)
	case b.Reason == "":
		return codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseHost, "code mode exec was blocked before execution by the hook %q.", b.Hook)
	}
	return codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseHost, "code mode exec was blocked before execution: %s", b.Reason)
}
