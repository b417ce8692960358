package pipeline

import (
	"context"
	"errors"
	"slices"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// A bridge call passes the stages of a pipeline, in order. Each stage has a file of its
// name. Kinds of calls differ in how they are resolved and invoked, and in nothing else.
// A stage reads and changes the call and calls no other stage; what observers see of a
// call is not the stages' business either: a callWatch sits around them.

// stage is one step of a call.
type stage struct {
	Name string
	when condition
	// do returns the rejection of the call, or nil if the call goes on.
	do func(context.Context, *call) *fault.Rejection
}

// condition says for which calls a stage counts.
type condition int

const (
	whileAccepted condition = iota // no stage has rejected the call
	onceInvoked                    // its tool may have taken effect
	always
)

// The stages that observers know by name.
const (
	stageResolve   = "resolve"
	stageAuthorise = "authorise"
	stageApprove   = "approve"
	stageInvoke    = "invoke"
	// stageRecord is the last stage of every pipeline. A panic of the stages before it
	// rejects the call; a panic in it ends the run.
	stageRecord = "record"
)

// callWatch observes a call from outside of its stages.
type callWatch interface {
	// before returns the context for the stage.
	before(ctx context.Context, stage string, c *call) context.Context
	after(stage string, c *call)
}

// counts reports whether the stage counts for the call as it is now.
func (s *stage) counts(c *call) bool {
	switch s.when {
	case whileAccepted:
		return c.rejection == nil
	case onceInvoked:
		return c.invoked
	}
	return true
}

// step has a call pass the stage.
func (s *stage) step(ctx context.Context, c *call, watch callWatch) {
	if !s.counts(c) {
		return
	}
	ctx = watch.before(ctx, s.Name, c)
	if rejection := s.do(ctx, c); rejection != nil {
		c.value, c.rejection = nil, rejection
	}
	watch.after(s.Name, c)
}

// guarded has a call pass stages. A panic, which is that of an embedder's tool or hook,
// rejects the call. The call has to do with one generation of each plugin only: the
// hooks, the mapping of arguments and the tool itself.
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
		if c.sentBack {
			c.sentBack = false
			i = slices.IndexFunc(stages, func(s stage) bool { return s.Name == stageApprove }) - 1
		}
	}
}

// rejectPanic rejects a call whose stages have panicked.
func (c *call) rejectPanic(p any) {
	id := ""
	if c.tool != nil {
		id = c.tool.ID()
	}
	c.run.Env.ReportPanic(run.DuringTool, p, "run", c.run.ID, "tool", id)
	c.value, c.rejection = nil, fault.Reject(fault.CodePanic, "The tool failed: it panicked.")
	c.rejection.ToolID, c.rejection.EffectStatus, c.rejection.Unknown = id, fault.EffectUnknown, true
}

// whyNotRecorded adds to a message what the program can do something about.
func whyNotRecorded(lost error) string {
	if errors.Is(lost, runstore.ErrTooLarge) {
		return ", because it and the calls that it waits for are too large together"
	}
	return " in time"
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
		return nil, nil // whether it was made before is for who goes on with the run
	}
	last := len(stages) - 1
	ctx, done := r.Calls.Begin(r.CallContext(), e)
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
