package guestserver

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/guestrt/internal/engine/quickjs"
	"github.com/quoinhq/quoin/internal/selfexec"
	"github.com/quoinhq/quoin/internal/wire"
)

// maxStack bounds the Go stack of a turn. The engine has its own, smaller limit.
const maxStack = 256 << 20

// ServeIfWorker turns this process into a guest worker if it was started as
// one, and then never returns. Otherwise it notes that this executable can
// serve as its own worker and returns at once. Call it first thing in main.
func ServeIfWorker() {
	if selfexec.IsWorker() {
		Main()
	}
	selfexec.Register(quickjs.ID())
}

// Main is the whole life of a worker process. It never returns.
func Main() {
	if !selfexec.IsWorker() {
		fmt.Fprintln(os.Stderr, "quoin-guest: this program is started by a Quoin host, not by hand")
		os.Exit(wire.ExitUsage)
	}
	debug.SetMaxStack(maxStack)
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "quoin-guest: panic: %v\n%s", r, debug.Stack())
			os.Exit(wire.ExitPanic)
		}
	}()
	conn, err := selfexec.Connection()
	if err != nil {
		fmt.Fprintf(os.Stderr, "quoin-guest: %v\n", err)
		os.Exit(wire.ExitUsage)
	}
	exit(Serve(conn, Config{Open: openWarm, Seal: seal, LimitMemory: limitMemory}))
}

// openWarm builds the engine and makes it do once what reads system files the
// first time, which the seal forbids.
func openWarm(buildID [32]byte) (engine.Engine, error) {
	if err := checkLinkage(); err != nil {
		return nil, err
	}
	e, err := openEngine(buildID)
	if err != nil {
		return nil, err
	}
	return e, warm(e)
}

// warm runs one program that formats a date, which loads the time zone.
func warm(e engine.Engine) error {
	vm, err := e.New(engine.Options{Limits: wire.Limits{}.Filled()})
	if err != nil {
		return err
	}
	config, err := guestConfig(wire.Cell{Limits: wire.Limits{}.Filled()}, javascript)
	if err != nil {
		return err
	}
	r, err := vm.Load(engine.Cell{
		Source:   []byte(wrap("return new Date().toString() + new Date().getTimezoneOffset()")),
		FileName: javascript.file(),
		Config:   config,
	}, time.Time{})
	if err != nil {
		return err
	}
	if r.Err != nil {
		return fmt.Errorf("warming up: %s: %s", r.Err.Name, r.Err.Message)
	}
	return vm.Discard()
}

// exitCode classifies the end of Serve.
func exitCode(err error) int {
	var protocol *protocolError
	var seal *sealError
	switch {
	case err == nil:
		return wire.ExitDone
	case errors.As(err, &protocol):
		return wire.ExitProtocol
	case errors.As(err, &seal):
		return wire.ExitSeal
	default:
		return wire.ExitPanic
	}
}
