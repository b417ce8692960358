package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
)

// CallTool makes one call of a tool of the session's Catalog, by its id, as a program
// would: rules, hooks and approvals hold, and a call that waits is a run that Wait resumes.
// Value of a completed Result is what the tool has returned, at most 8 MiB.
func (h *Host) CallTool(ctx context.Context, s Session, id string, input json.RawMessage) *Result {
	in := run.Input{Title: "call " + id, MaxOutput: codemode.Ranges().MaxOutput.Max}
	call := fmt.Sprintf("tools.call(%s, ", literal(id))
	base := h.views.SessionView(s)
	if tool, ok := base.Catalog.ByID(id); ok && tool.Source == catalog.SourceMCP {
		call = base.MCPPath(tool) + "("
	} else if !ok {
		for _, t := range h.Catalog(s).DirectTools() {
			if t.ID() != id {
				continue
			}
			t.DirectOnly = false
			request, f := h.views.requestTools([]catalog.Tool{t})
			if f != nil {
				return f.Result()
			}
			in.Request = request
		}
	}
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	if !json.Valid(input) {
		return view.RequestFailure("the input of %s is not JSON", id).Result()
	}
	// As text the input has no special meaning, such as a key __proto__ has.
	in.Code = "return await " + call + "JSON.parse(" + literal(string(input)) + "))"
	return h.engine.Exec(ctx, s, in)
}

// literal is a text as a program writes it.
func literal(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("host: a text cannot be encoded: " + err.Error()) // it always can
	}
	return string(b)
}
