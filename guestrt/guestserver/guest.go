package guestserver

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
)

// guest is one VM and the source map of the cell it runs.
type guest struct {
	vm    engine.VM
	at    positions
	ended bool // the last report was not idle
}

// start runs a new cell. A cell that is refused before it runs leaves no guest.
func (s *server) start(m *wire.Start) (*wire.Report, *wire.Fault) {
	if s.guest != nil {
		return nil, fault(wire.CodeInternal, "", "the worker already has a guest")
	}
	m.Cell.Limits = m.Cell.Limits.Filled()
	deadline := deadlineIn(m.BudgetMicros)
	p, refusal := prepare(m.Cell)
	if refusal != nil {
		return failed(refusal), nil
	}
	if f := s.limit(m.Cell.Limits); f != nil {
		return nil, f
	}
	o, err := options(m.Cell.Limits, s.file)
	if err != nil {
		return nil, fault(wire.CodeInternal, "", err.Error())
	}
	vm, err := s.engine.New(o)
	if err != nil {
		return nil, unable("the guest could not be created", err)
	}
	s.guest = &guest{vm: vm, at: p.at}
	if f := s.replay(m.Trace); f != nil {
		return nil, f
	}
	r, err := vm.Load(p.cell, deadline)
	if err != nil {
		return nil, s.dead(err)
	}
	if r.Err != nil && r.Err.Reason == wire.ReasonSyntaxError {
		r.Err = p.syntaxError(m.Cell, r.Err)
	} else {
		s.guest.at.mapError(r.Err)
	}
	s.guest.ended = r.Status != wire.StatusIdle
	return &r, nil
}

// turn lets the guest run on.
func (s *server) turn(m *wire.Turn) (*wire.Report, *wire.Fault) {
	if s.guest == nil || s.guest.ended {
		return nil, fault(wire.CodeInternal, "", "the worker has no waiting guest")
	}
	if f := s.replay(m.Trace); f != nil {
		return nil, f
	}
	r, err := s.guest.vm.Turn(m.Settlements, deadlineIn(m.BudgetMicros))
	if err != nil {
		return nil, s.dead(err)
	}
	s.guest.at.mapError(r.Err)
	s.guest.ended = r.Status != wire.StatusIdle
	return &r, nil
}

// replay makes the guest's next turn a replay if there is a trace.
func (s *server) replay(trace []byte) *wire.Fault {
	if len(trace) == 0 {
		return nil
	}
	if err := s.guest.vm.Replay(trace); err != nil {
		return s.dead(err)
	}
	return nil
}

// dead accounts for a VM that failed for a reason that is not the guest's. The
// host learns the first line, the log everything.
func (s *server) dead(err error) *wire.Fault {
	s.guest.ended = true
	fmt.Fprintln(os.Stderr, "quoin-guest: engine:", err)
	if errors.Is(err, engine.ErrMemory) {
		return unable("", err)
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fault(wire.CodeRuntimeUnavailable, wire.ReasonWorkerCrashed, "the guest engine failed: "+first)
}

// unable says what could not be done for a reason that is not the guest's, or that
// the process has too little memory for it.
func unable(what string, err error) *wire.Fault {
	if errors.Is(err, engine.ErrMemory) {
		return fault(wire.CodeMemoryLimit, "", "code mode memory limit exceeded: the program needs more memory than the guest worker has")
	}
	return fault(wire.CodeInternal, "", what+": "+err.Error())
}

func (g *guest) discard() error { return g.vm.Discard() }

func options(l wire.Limits, files engine.Files) (engine.Options, error) {
	o := engine.Options{Limits: l, Files: files}
	err := sandbox.Random(o.Seed[:])
	return o, err
}

// deadlineIn returns the time a budget ends; zero means never.
func deadlineIn(micros uint64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	const year = 365 * 24 * time.Hour
	return time.Now().Add(time.Duration(min(micros, uint64(year/time.Microsecond))) * time.Microsecond)
}

func failed(e *wire.GuestError) *wire.Report {
	return &wire.Report{Status: wire.StatusFailed, Err: e, TimerMillis: -1}
}
