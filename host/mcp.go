package host

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
)

// mcpTools makes catalog tools of what the connected servers offer.
func (vs *views) mcpTools() []catalog.Tool {
	if vs.mcp == nil {
		return nil
	}
	offered := vs.mcp.Tools()
	tools := make([]catalog.Tool, 0, len(offered))
	for _, t := range offered {
		tools = append(tools, catalog.Tool{
			Name:        t.Name,
			Label:       t.Title,
			Description: t.Description,
			Source:      catalog.SourceMCP,
			Owner:       t.Server,
			Parameters:  t.Input,
			Output:      t.Output,
			ReadOnly:    t.ReadOnly,
			Idempotent:  t.Idempotent,
			Invoke: func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
				return vs.mcp.Call(ctx, mcp.Request{Server: t.Server, Tool: t.Name, Input: c.Input, Session: c.Session, Resumption: c.Resumption, Ask: c.Ask, Progress: c.Progress,
					RunID: c.RunID, IdempotencyKey: c.IdempotencyKey, Epoch: c.Epoch})
			},
		})
	}
	return tools
}

// MCPStatus is the state of an MCP server.
type MCPStatus struct {
	mcp.Status
	// Identifier is what programs call the server, as in MCP.<Identifier>.
	Identifier string
}

// MCPStatus reports every MCP server of Config.MCP.Servers that is not disabled, by name,
// also those that are down.
func (h *Host) MCPStatus() []MCPStatus {
	list := h.views.MCPStatus()
	out := make([]MCPStatus, len(list))
	h.views.mu.Lock()
	defer h.views.mu.Unlock()
	for i, s := range list {
		out[i] = MCPStatus{s, h.views.mcpNames[s.Name]}
	}
	return out
}

// Connecting returns the MCP servers that are being connected for the first time, with
// their identifiers.
func (vs *views) Connecting() map[string]string {
	if vs.mcp == nil || vs.mcpTried.Load() {
		return nil
	}
	out := map[string]string{}
	for _, st := range vs.mcp.Status() {
		if st.State == mcp.StateConnecting {
			out[st.Name] = vs.mcpNames[st.Name]
		}
	}
	vs.mcpTried.Store(len(out) == 0)
	return out
}
