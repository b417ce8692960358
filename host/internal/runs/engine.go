package runs

import (
	"context"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/upkeep"
)

// Engine runs cells: it owns the guest workers, the runs of this process, the stores of
// runs and approvals, and what sessions share. What runs reach, and which hooks look at
// their calls, it asks its embedder.
type Engine struct {
	*drive.Env
	*guests.Guests
	*registry
	*reviver
	lister

	sweeper *upkeep.Sweeper
	asked   askedHosts

	answering sync.Mutex // orders answers that have to load their run
}

// The model's own tools.
const (
	toolExec = "exec"
	ToolWait = "wait"
)

// MakeRoom releases idle runs that other processes have by now.
func (e *Engine) MakeRoom(ctx context.Context, since time.Time) (bool, error) {
	return e.moved.MakeRoom(ctx, since)
}
