package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/policy"
)

// DirectTools returns the direct-only tools of Config.Tools that the rules leave to a
// session. Programs cannot call them; CallTool can.
func (h *Host) DirectTools(s Session) []catalog.Tool {
	_, direct, f := h.split(s, nil, policy.Rules{})
	if f != nil { // it fails for rules of a request alone
		h.log.Error("the direct-only tools of a session could not be listed", "error", f)
	}
	return direct
}

// CallTool makes one call of a tool of Tools or DirectTools, by its id, as a program
// would: rules, hooks and approvals hold, and a call that waits is a run that Wait resumes.
// Value of a completed Result is what the tool has returned, at most 8 MiB.
func (h *Host) CallTool(ctx context.Context, s Session, id string, input json.RawMessage) *Result {
	in := run.Input{Title: "call " + id, MaxOutput: codemode.Ranges().MaxOutput.Max}
	call := fmt.Sprintf("tools.call(%s, ", literal(id))
	base := h.sessionView(s)
	if tool, ok := base.Catalog.ByID(id); ok && tool.Source == catalog.SourceMCP {
		call = base.MCPPath(tool) + "("
	} else if !ok {
		for _, t := range h.DirectTools(s) {
			if t.ID() != id {
				continue
			}
			t.DirectOnly = false
			request, f := h.requestTools([]catalog.Tool{t})
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

// ToolsChanged returns a channel that has a value when tools or namespaces may have
// changed since the last one, until ctx ends.
func (h *Host) ToolsChanged(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	w := &h.toolWatchers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[chan struct{}]bool)
	}
	w.all[c] = true
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, c)
	})
	return c
}
