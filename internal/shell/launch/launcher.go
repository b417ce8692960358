package launch

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// supervisorName is the name by which this executable is a supervisor.
const supervisorName = "quoin-shell-supervisor"

// mainCalled reports that this executable becomes a supervisor when it is started as one.
var mainCalled atomic.Bool

type launcher struct {
	withoutCgroup bool // for tests of machines without one
}

// New returns the Launcher of this machine. Call [Main] before.
func New() execution.Launcher { return &launcher{} }

func (l *launcher) Start(ctx context.Context, c execution.Command) (execution.Process, error) {
	if !mainCalled.Load() {
		return nil, errors.New("call launch.Main first in main, so that this program can supervise commands")
	}
	if len(c.Argv) == 0 {
		return nil, errors.New("the command is empty: give it a program")
	}
	return l.start(ctx, c)
}
