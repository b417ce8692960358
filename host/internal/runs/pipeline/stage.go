package pipeline

import (
	"context"

	"github.com/quoinhq/quoin/host/internal/runs/fault"
)

// stage is one step of a call.
type stage struct {
	Name string
	when condition
	// do returns the rejection of the call, or nil if the call continues.
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
