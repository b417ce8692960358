//go:build linux

// Command badguest is a guest worker that is sealed like any other and whose
// engine then does what a program that broke out of QuickJS would try: a system
// call that the seal forbids.
package main

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/guestrt/guestserver"
	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/selfexec"
	"github.com/quoinhq/quoin/internal/wire"
)

func main() {
	conn, err := selfexec.Connection()
	if err == nil {
		err = guestserver.Serve(conn, guestserver.Config{
			Open:        func([32]byte) (engine.Engine, error) { return bad{}, nil },
			Seal:        func() []wire.Layer { return sandbox.Seal(sandbox.Policy{}) },
			LimitMemory: sandbox.LimitMemory,
		})
	}
	fmt.Fprintln(os.Stderr, err)
}

type bad struct{}

func (bad) ID() string                                        { return "bad" }
func (bad) New(engine.Options) (engine.VM, error)             { return bad{}, nil }
func (bad) Restore([]byte, engine.Options) (engine.VM, error) { return bad{}, nil }
func (bad) Turn([]wire.Settlement, time.Time) (wire.Report, error) {
	return wire.Report{}, nil
}
func (bad) Snapshot(int) ([]byte, error) { return nil, nil }
func (bad) Discard() error               { return nil }
func (bad) Replay([]byte) error          { return nil }

func (bad) Load(engine.Cell, time.Time) (wire.Report, error) {
	_, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	return wire.Report{}, err
}
