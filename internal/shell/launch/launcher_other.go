//go:build !linux

package launch

import (
	"context"
	"errors"
	"runtime"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

// Main does nothing on this system.
func Main() { mainCalled.Store(true) }

// start refuses: nothing here would end a command with all its descendants.
func (l *launcher) start(context.Context, execution.Command) (execution.Process, error) {
	return nil, errors.New("commands cannot be contained on " + runtime.GOOS + "; run the host on Linux")
}
