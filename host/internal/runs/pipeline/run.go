package pipeline

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/programs"
)

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
	Hint            func(id string) // says that a parked run may continue
	ApprovalWatcher approvalWatcher
	KeptPrograms    KeptPrograms
	programIndex    programIndex
	kept            keptValues
	badOutputs      sync.Map // tools that were reported, by id and schemas
}

// savedPrograms are those that a run has started, by key. The zero value is ready.
type savedPrograms struct {
	mu    sync.Mutex
	byKey map[string]*programs.Program
}
