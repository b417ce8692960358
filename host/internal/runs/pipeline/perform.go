package pipeline

import (
	"context"
	"slices"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
)

// A bridge call passes the stages of a pipeline, in order. Each stage has a file of its
// name. Kinds of calls differ in how they are resolved and invoked, and in nothing else.
// A stage reads and changes the call and calls no other stage; what observers see of a
// call is not the stages' business either: a callWatch sits around them.

// guarded has a call pass stages. A panic of an embedder's tool or hook rejects the call.
// The call has to do with one generation of each plugin only: the hooks, the mapping of
// arguments and the tool itself.
func (r *Run) guarded(ctx context.Context, c *call, stages []stage, watch callWatch) {
	ctx, release := r.Env.HoldPlugins(ctx)
	defer release()
	defer func() {
		if p := recover(); p != nil {
			c.rejectPanic(p)
		}
	}()
	for i := 0; i < len(stages); i++ {
		stages[i].step(ctx, c, watch)
		if c.consent.sentBack {
			c.consent.sentBack = false
			i = slices.IndexFunc(stages, func(s stage) bool { return s.Name == stageApprove }) - 1
		}
	}
}

// rejectPanic rejects a call after its stages have panicked.
func (c *call) rejectPanic(p any) {
	id := ""
	if c.tool != nil {
		id = c.tool.ID()
	}
	c.run.Env.ReportPanic(run.DuringTool, p, "run", c.run.ID, "tool", id)
	c.value, c.rejection = nil, fault.Reject(fault.CodePanic, "The tool failed: it panicked.")
	c.rejection.ToolID, c.rejection.EffectStatus, c.rejection.Unknown = id, fault.EffectUnknown, true
}

// Perform has one call pass its stages. It runs on its own goroutine, with a slot of the
// run taken. A call that the store could not be told of passes the last stage alone. It
// returns the calls that have got slots, and why the store does not know of them.
func (r *Run) Perform(e *calls.Entry, lost error) (next []*calls.Entry, _ error) {
	c := &call{Entry: e, run: r}
	stages, watch := CallStages, callWatch(Observer{r}.observeCall(c))
	if c.Method == calls.MethodExec {
		stages, watch = programStages, programWatch{}
	}
	if lost == nil {
		lost = r.Record.Held(r.Context)
	}
	if r.Record.GaveUp() != nil {
		return nil, nil // the one that resumes the run finds out whether it was made before
	}
	last := len(stages) - 1
	ctx, done := r.Calls.CallContext(r.CallContext(), e)
	defer done()
	if lost != nil {
		r.Env.Logger.Error("a call was not made: its run could not be recorded", "run", r.ID, "call", e.PublicID(), "error", lost)
		c.rejection = c.notMade(fault.Reject(fault.CodeInterrupted, "The call was not made: its run could not be recorded%s.", whyNotRecorded(lost)))
		stages[last].do(ctx, c)
		return c.next, c.lost
	}
	r.guarded(ctx, c, stages[:last], watch)
	stages[last].step(ctx, c, watch)
	return c.next, c.lost
}
