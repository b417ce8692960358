package pipeline

import (
	"context"
	"fmt"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
)

// validate checks the input of a call against the schema of its tool.
func validate(_ context.Context, c *call) *fault.Rejection {
	if rejection := c.run.checkInput(c.tool, c.input); rejection != nil {
		return c.run.withSignature(c, c.tool, c.via, rejection)
	}
	return nil
}

// revalidate checks the input that a person has approved: the tool may be another by
// now.
func revalidate(_ context.Context, c *call) *fault.Rejection {
	if c.consent.decision == nil {
		return nil
	}
	return c.run.checkInput(c.tool, c.input)
}

// checkInput checks an input of a tool. A tool with schemas that changed since the run first
// used it is compatible as long as it takes the input.
func (r *Run) checkInput(tool *catalog.Tool, input []byte) *fault.Rejection {
	if IsProgramTool(tool.ID()) {
		return checkProgramInput(tool, input)
	}
	if now, ok := r.View().Catalog.ByID(tool.ID()); ok {
		tool = now // not what it was when the call was made and a person was asked
	}
	same := r.Used.Note(tool)
	err := r.View().Catalog.ValidateInput(tool.ID(), input)
	if err == nil {
		return nil
	}
	e := fault.RejectionFromCatalog(err)
	if !same {
		e.Code = fault.CodeCatalogChanged
		e.Message = fmt.Sprintf("Tool %s has changed since this run first used it. %s", tool.ID(), e.Message)
	}
	return e
}
