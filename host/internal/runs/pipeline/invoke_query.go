package pipeline

import (
	"context"
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/wire"
)

// invokeQuery answers one query from the catalog, unless the budget is used up.
func invokeQuery(ctx context.Context, c *call) *fault.Rejection {
	switch {
	case ctx.Err() != nil:
		return fault.Reject(fault.CodeAborted, "The run was aborted before the catalog was asked.")
	case !time.Now().Before(c.budget.until):
		return fault.Reject(string(codemode.CodeTimeout), "The searches and descriptions asked for at once took too long, at most %s and half of the time that a program may compute, and this one was not answered. Await them in smaller batches.", c.run.Env.Times.QueryTime)
	case c.budget.room <= 0:
		return fault.Reject(fault.CodeReplyTooLarge, "The answers of the catalog that wait have %d bytes or more. Await searches and descriptions in smaller batches.", maxQueryBytes)
	}
	value, rejection := c.run.answer(c)
	c.value = value
	return rejection
}

// answer serves the calls that the catalog alone can answer.
func (r *Run) answer(c *call) (json.RawMessage, *fault.Rejection) {
	cat := r.View().Catalog
	var v any
	switch wire.Method(c.Method) {
	case wire.MethodSearch:
		limit, err := cat.Limit(c.Args)
		if err != nil {
			return nil, fault.RejectionFromCatalog(err)
		}
		v = r.search(c.Target, limit)
	default:
		if d := r.describeProgram(c.Target); d != nil {
			v = d
			break
		}
		tool, rejection := r.findTool(c.Target)
		if rejection != nil {
			return nil, rejection
		}
		d, err := cat.Describe(tool.ID())
		if err != nil {
			return nil, fault.RejectionFromCatalog(err)
		}
		r.Used.Note(tool)
		v = d
	}
	b, err := jsontext.Marshal(v)
	if err != nil {
		return nil, fault.Reject(fault.CodeNestedTool, "catalog: %v", err)
	}
	return b, nil
}
