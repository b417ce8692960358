//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// Load compiles and starts the cell and runs it until it waits.
func (v *vm) Load(c engine.Cell, deadline time.Time) (wire.Report, error) {
	if err := v.usable(); err != nil {
		return wire.Report{}, fmt.Errorf("quickjs: load: %w", err)
	}
	if ctl().loaded != 0 {
		return wire.Report{}, fmt.Errorf("quickjs: load: the VM has a cell already")
	}
	if !json.Valid(c.Config) {
		return wire.Report{}, fmt.Errorf("quickjs: load: the configuration is not JSON")
	}
	return v.turn("load", deadline, func() (*wire.GuestError, error) {
		ctl().loaded = 1
		return v.start(c), nil
	})
}

// Turn delivers settlements and runs the guest until it waits again.
func (v *vm) Turn(in []wire.Settlement, deadline time.Time) (wire.Report, error) {
	if err := v.usable(); err != nil {
		return wire.Report{}, fmt.Errorf("quickjs: turn: %w", err)
	}
	if ctl().loaded == 0 {
		return wire.Report{}, fmt.Errorf("quickjs: turn: no cell was loaded")
	}
	return v.turn("turn", deadline, func() (*wire.GuestError, error) {
		for _, s := range in {
			if guest, err := v.settle(s); guest != nil || err != nil {
				return guest, err
			}
		}
		return nil, nil
	})
}

// turn is what Load and Turn share: enter the guest, run it until it waits,
// collect what it wants.
func (v *vm) turn(op string, deadline time.Time, enter func() (*wire.GuestError, error)) (r wire.Report, err error) {
	began := cpuTime()
	v.deadline = deadline
	v.startTrace()
	err = v.guard(func() (err error) {
		if r, err = v.advance(enter); err != nil {
			return err
		}
		r.HeapBytes, r.HeapPeakBytes = ctl().heap.live, ctl().heap.peak
		if r.Status == wire.StatusFailed && len(r.Output) == 0 {
			r.Output = v.lastOutput()
		}
		return nil
	})
	if errors.Is(err, errRefusal) {
		v.end = endMemory
		r, err = v.failed(nil), nil
	}
	if err != nil {
		v.broken = true
		return wire.Report{}, fmt.Errorf("quickjs: %s: %w", op, err)
	}
	v.endTrace(&r)
	v.finished = r.Status != wire.StatusIdle
	r.CPUMicros = uint64((cpuTime() - began) / time.Microsecond)
	return r, nil
}

// Grants for reading the output of a guest that was stopped.
const (
	graceTime   = 20 * time.Millisecond
	graceMemory = 4 << 20
)

// lastOutput returns what a failed guest had emitted. The guest gets no more
// of the turn: only the prelude's report runs, under a little time and memory
// of its own. What cannot be read that way is given up.
func (v *vm) lastOutput() []wire.Output {
	c := ctl()
	if !c.quiescent() {
		return nil
	}
	defer func(end ending) { v.end = end }(v.end)
	v.end, v.deadline = endNone, time.Now().Add(graceTime)
	c.kill = 0
	c.heap.limit = c.full + graceMemory
	text := v.js.call(c.drain)
	if isException(text) {
		v.js.dropException()
		return nil
	}
	defer v.js.free(text)
	r, err := v.readDrain(text)
	if err != nil {
		return nil
	}
	return r.Output
}

func (v *vm) advance(enter func() (*wire.GuestError, error)) (wire.Report, error) {
	guest, err := enter()
	if err != nil {
		return wire.Report{}, err
	}
	if guest != nil {
		return v.failed(guest), nil
	}
	v.settleDown()
	if v.end != endNone || v.jobErr != nil || ctl().lost != 0 {
		return v.failed(v.jobErr), nil
	}
	return v.collect()
}

// start evaluates the cell's expression and hands the function to the prelude.
func (v *vm) start(c engine.Cell) *wire.GuestError {
	j := v.js
	code := j.compile(c.Source, c.FileName)
	if isException(code) {
		return inputError(v.thrown())
	}
	if j.escapes(c.Source) {
		j.free(code)
		return escapeError()
	}
	cell := j.evalCompiled(code)
	if isException(cell) {
		return v.thrown()
	}
	ctl().cell, ctl().cellColumn = cell, uint64(max(bytes.Index(c.Source, []byte("async")), 0))
	if !j.isFunction(cell) {
		return inputError(&wire.GuestError{Name: "SyntaxError", Message: "the cell is not the body of a function"})
	}
	config := j.newString(c.Config)
	if isException(config) {
		return v.thrown()
	}
	defer j.free(config)
	r := j.call(ctl().start, config, cell)
	if isException(r) {
		return v.thrown()
	}
	j.free(r)
	return nil
}

// settle delivers one settlement to the prelude.
func (v *vm) settle(s wire.Settlement) (*wire.GuestError, error) {
	if s.ID >= 1<<31 {
		return nil, fmt.Errorf("%w: id %d", engine.ErrUnknownCall, s.ID)
	}
	if !json.Valid(s.JSON) {
		return nil, fmt.Errorf("the settlement of call %d is not JSON", s.ID)
	}
	j := v.js
	text := j.newString(s.JSON)
	if isException(text) {
		return v.thrown(), nil
	}
	defer j.free(text)
	known := j.call(ctl().settle, intValue(int32(s.ID)), boolValue(s.OK), text)
	if isException(known) {
		return v.thrown(), nil
	}
	if !isTrue(known) {
		return nil, fmt.Errorf("%w: id %d", engine.ErrUnknownCall, s.ID)
	}
	return nil, nil
}

// settleDown runs jobs and due timers until neither is left or the guest must
// stop.
func (v *vm) settleDown() {
	for {
		if v.runJobs(); v.stopped() {
			return
		}
		fired := v.js.call(ctl().fire)
		if isException(fired) {
			if v.jobErr = v.thrown(); v.jobErr != nil {
				return
			}
		}
		if v.stopped() || !isTrue(fired) {
			return
		}
	}
}

// collect asks the prelude for the state of the program and its requests.
func (v *vm) collect() (wire.Report, error) {
	text := v.js.call(ctl().drain)
	if isException(text) {
		return v.failed(v.thrown()), nil
	}
	defer v.js.free(text)
	r, err := v.readDrain(text)
	if err != nil {
		return wire.Report{}, err
	}
	if v.end != endNone || r.Err != nil || starved(&r) {
		out := r.Output
		r = v.failed(r.Err)
		r.Output = out
	}
	return r, nil
}

// starved reports whether a program waits for nothing that will come after memory has run
// out: the job that would have settled what it waits for could not be made.
func starved(r *wire.Report) bool {
	return r.Status == wire.StatusIdle && ctl().heap.crossings > 0 && r.Pending == 0 && r.TimerMillis < 0
}

func (v *vm) readDrain(text value) (r wire.Report, err error) {
	if !isString(text) {
		return r, fmt.Errorf("the prelude drained no string")
	}
	if !v.js.lend(text, func(b []byte) { r, err = parseDrain(b) }) {
		return v.failed(v.thrown()), nil
	}
	return r, err
}

// Discard gives the VM's memory back. It is idempotent.
func (v *vm) Discard() error {
	if v.dead {
		return nil
	}
	v.dead = true
	return v.engine.release(v)
}
