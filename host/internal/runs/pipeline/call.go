package pipeline

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
)

// call is a bridge call that is being performed. It belongs to the goroutine that
// performs it: to its stages.
type call struct {
	*calls.Entry // guarded by the mu of the table; this goroutine may read what it alone changes
	run          *Run

	tool       *catalog.Tool
	saved      *programs.Program // that the call starts
	via        string            // how the guest writes the tool
	given      json.RawMessage   // the input as resolved
	input      json.RawMessage   // the input to use: hooks may have changed it
	subject    policy.Call       // the call as hooks and people see it
	progress   func(json.RawMessage)
	budget     queryBudget
	question   *policy.Approval     // newly put to people
	decision   *policy.Approval     // what people have decided
	approvals  []catalog.Approval   // what allowed the call
	effect     int                  // its number in the journal of effects; 0: it has no place there
	resumption *codemode.Resumption // what the tool asked for and people have answered
	sentBack   bool                 // to the stage approve, which waits for the question
	invoked    bool                 // its tool may have taken effect
	took       time.Duration        // by the tool
	value      json.RawMessage      // what the guest gets
	reply      json.RawMessage      // of the tool, before any hook
	rejection  *fault.Rejection     // what the guest gets instead
	next       []*calls.Entry       // calls that have got the slot of this one
	lost       error                // why the store does not know of next
}

// Run is a run with what its calls share.
type Run struct {
	*run.Run
	Env      *Env
	saved    savedPrograms
	declared map[string]*scopeDeclaration // files of namespaces; the driver's own
	Changed  atomic.Bool                  // the tools have changed since the run was suspended
	TurnEnds time.Time                    // at the latest; of the newest turn; the driver's own
}

func New(e *Env, r *run.Run) *Run { return &Run{Run: r, Env: e} }

// Env is what the calls of all runs of a host share.
type Env struct {
	*run.Env
	Hint            func(id string) // says that a parked run may go on
	ApprovalWatcher approvalWatcher
	KeptPrograms    KeptPrograms
	programIndex    programIndex
	kept            keptValues
	badOutputs      sync.Map // tools that were reported, by id and schemas
}

// notMade marks a rejection of a call that never reached its tool, or that had no effect
// there. An earlier host may have made it, too.
func (c *call) notMade(e *fault.Rejection) *fault.Rejection {
	e.ToolID, e.EffectStatus = c.subject.ToolID, fault.EffectNone
	if (c.Repeated || c.Dispatched && c.tool != nil) && (c.tool == nil || !c.tool.ReadOnly) {
		e.EffectStatus, e.Unknown = fault.EffectUnknown, true
	}
	return e
}
