package drive

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// turn delivers what has settled and runs the guest. It returns ErrBusy or
// errUnrestored, and delivers nothing, when there is no worker.
func (g *guest) turn() (*wire.Report, error) {
	if g.held != nil {
		return g.startHeld()
	}
	if err := g.restore(); err != nil {
		return nil, err
	}
	g.dropImage()
	settlements, started, more := g.run.Calls.DrainInbox()
	if more {
		g.run.arrived.Store(true)
	}
	if len(started) > 0 {
		g.run.launch(started, g.run.Record.Journal(g.run.Background()))
	}
	g.run.replay.Start(nil, settlements)
	rep, err := g.worker.Turn(g.ctx, settlements, g.turnDeadline())
	return g.logged(rep, err)
}

// startProgram starts a program in the worker and runs its first turn.
func (g *guest) startProgram(p pipeline.Program) (*wire.Report, error) {
	cell := g.cell(p.Code, p.Language)
	g.run.replay.Start(&cell, nil)
	rep, err := g.worker.Start(g.ctx, cell, g.file, g.turnDeadline())
	return g.logged(rep, err)
}

// logged enters the report of a turn into the run's log.
func (g *guest) logged(rep *wire.Report, err error) (*wire.Report, error) {
	if err == nil {
		g.run.replay.End(rep)
	}
	return rep, err
}

// drive runs the guest to the next result: it serves the guest's bridge calls as
// their answers arrive, with no model turn in between. The caller contains it.
func (d *driver) drive(rep *wire.Report, err error) *codemode.Result {
	for {
		if res := d.step(rep, err); res != nil {
			return res
		}
		if res := d.ready(); res != nil {
			return res
		}
		rep, err = d.turn()
	}
}

// step takes over the outcome of one turn of the guest. The result is nil if the run
// continues.
func (d *driver) step(rep *wire.Report, err error) *codemode.Result {
	switch {
	case errors.Is(err, ErrBusy), errors.Is(err, fault.ErrClosing), errors.Is(err, errUnrestored):
		return d.suspend()
	case err != nil:
		return d.failed(d.failureFrom(err))
	}
	return d.handleReport(rep)
}

// ready waits until the guest should run again. If it should not in this Exec or
// Wait, the result says why.
func (d *driver) ready() *codemode.Result {
	for {
		why, err := d.await()
		switch {
		case err != nil:
			return d.failed(d.failureFrom(err))
		case why == wokeReady:
			return nil
		case why == wokeDriven:
			if d.result != nil {
				return d.result
			}
			continue
		case why == wokeDeadline && d.mayGoOnLarge():
			continue
		case why == wokeDeadline, why == wokeClient:
			return d.suspend()
		case why == wokeNothing:
			return d.failed(codemode.Errorf(codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest, "code mode promise is pending without host work"))
		}
		// The host shuts down. A guest too large to be parked continues.
		if _, err := d.snapshot(); !fault.TooLarge(err) {
			return d.suspend()
		}
		d.large = true
	}
}

// handleReport accounts for one turn. The result is nil if the run continues.
func (d *driver) handleReport(rep *wire.Report) *codemode.Result {
	r := d.run
	f := d.absorb(rep)
	if r.Context.Err() != nil {
		// The guest may have seen its calls cancelled before we did.
		f = d.failureFrom(r.Context.Err())
	}
	if f != nil {
		return d.failed(f)
	}
	switch rep.Status {
	case wire.StatusFailed:
		return d.failed(d.overBudget(fault.FromGuest(rep.Err)))
	case wire.StatusDone:
		return d.completed(rep.Value)
	}
	if f := d.overBudget(nil); f != nil {
		return d.failed(f)
	}
	b, f := r.Record.Admit(rep.Requests)
	if f != nil {
		return d.failed(f)
	}
	d.launch(b.Started, nil)
	d.run.AnswerAll(d.ctx, b.Queries, d.compute)
	if b.Yielded {
		return d.suspend(b.Fresh...)
	}
	if err := d.checkpoint(b.Fresh); err != nil {
		return d.failed(d.failureFrom(err))
	}
	return nil
}

// checkpoint starts calls of the guest's last turn as the record of the run allows.
func (d *driver) checkpoint(fresh []*calls.Entry) error {
	r := d.run
	started, lost, err := r.Record.Checkpoint(r.Background(), fresh, d.snapshot, func(rec *runstore.Record) {
		rec.Counters = d.lap()
		rec.Expires = d.expiresAfter(d.deadline)
		d.output.Store(rec)
		if len(rec.Replay) > max(replay.MaxCheckpointLog, len(rec.Image)) {
			rec.Replay, rec.NoReplay = nil, replay.LostNotWritten
		}
	})
	d.launch(started, lost)
	return cmp.Or(err, r.Record.GaveUp())
}

// goOn waits until there is something to deliver to the guest, and drives it on.
func (d *driver) goOn() (res *codemode.Result) {
	defer d.contain(&res)
	if res := d.ready(); res != nil {
		return res
	}
	return d.drive(d.turn())
}

// first starts the program in a worker and drives it.
func (d *driver) first(p pipeline.Program) (res *codemode.Result) {
	defer d.contain(&res)
	d.awaitServers(p.Code)
	if err := d.lease(); err != nil {
		return d.failed(d.failureFrom(err))
	}
	return d.drive(d.startProgram(p))
}

// startHeld starts a program that was held, if it may start.
func (g *guest) startHeld() (*wire.Report, error) {
	r := g.run
	g.awaitServers(g.held.Code)
	if err := g.lease(); err != nil {
		return nil, err
	}
	c, p := r.Calls.TakeHeld(), g.held
	g.held = nil
	g.image = nil // a record without an image has an empty one
	if !c.OK {
		var denied wire.CallError
		if err := json.Unmarshal(c.Answer, &denied); err != nil {
			return nil, err
		}
		return nil, codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseHost, "%s", denied.Message)
	}
	return g.startProgram(*p)
}

// cell is what the worker needs to start the program.
func (g *guest) cell(code, language string) wire.Cell {
	c := wire.Cell{Language: language, Source: code, Limits: g.limits()}
	for _, n := range g.run.View().Namespaces {
		c.Namespaces = append(c.Namespaces, wire.NamespaceRef{Global: n.GlobalName, ID: n.ID})
	}
	return c
}
