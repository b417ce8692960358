//go:build !linux

package confine

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/internal/shell/execution"
)

var errNotHere = errors.New("there is a sandbox for commands on Linux only; set plugins.shell.host to gateway or node")

// Main does nothing on this system.
func Main() {}

// Launcher starts no command on this system.
type Launcher struct{}

// New says that this system has no sandbox.
func New(Options) (*Launcher, error) { return nil, errNotHere }

// Report says that this system has no sandbox.
func (*Launcher) Report(context.Context) (Report, error) { return Report{}, errNotHere }

// Close does nothing.
func (*Launcher) Close() error { return nil }

// Start says that this system has no sandbox.
func (*Launcher) Start(context.Context, execution.Command) (execution.Process, error) {
	return nil, errNotHere
}
