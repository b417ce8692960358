package drive

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/internal/wire"
)

// judge shows the program to the hooks and returns it as it is to be run. If they ask for a
// person, driver.held is the program.
func (r *Run) judge(ctx context.Context, p pipeline.Program) (pipeline.Program, *codemode.Error) {
	p, held, f := r.JudgeProgram(ctx, p)
	if len(held) > 0 {
		r.driver.held = &p
		r.launch(held, nil)
	}
	return p, f
}

// startHeld starts a program that was held, if it may start.
func (d *driver) startHeld() (*wire.Report, error) {
	r := d.run
	d.awaitServers(d.held.Code)
	if err := d.lease(); err != nil {
		return nil, err
	}
	c, p := r.Calls.TakeHeld(), d.held
	d.held = nil
	d.image = nil // a record without an image has an empty one
	if !c.OK {
		var denied wire.CallError
		if err := json.Unmarshal(c.Answer, &denied); err != nil {
			return nil, err
		}
		return nil, codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseHost, "%s", denied.Message)
	}
	return d.startProgram(*p)
}

// reviveHeld reads the program of a run that was stored before it started.
func (r *Run) reviveHeld(c *calls.Entry) error {
	var p pipeline.Program
	if err := json.Unmarshal(c.Args, &p); err != nil {
		return fmt.Errorf("its program: %w", err)
	}
	r.driver.held, r.Language, r.Code = &p, p.Language, p.Code
	return nil
}
