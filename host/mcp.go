package host

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
)

// mcpTools makes catalog tools of what the connected servers offer.
func (h *Host) mcpTools() []catalog.Tool {
	if h.mcp == nil {
		return nil
	}
	offered := h.mcp.Tools()
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
				return h.mcp.Call(ctx, mcp.Request{Server: t.Server, Tool: t.Name, Input: c.Input, Session: c.Session, Resumption: c.Resumption, Ask: c.Ask, Progress: c.Progress,
					RunID: c.RunID, IdempotencyKey: c.IdempotencyKey, Epoch: c.Epoch})
			},
		})
	}
	return tools
}

// MCPStatus reports every MCP server of Config.MCP.Servers that is not disabled, by name,
// also those that are down.
func (h *Host) MCPStatus() []mcp.Status {
	if h.mcp == nil {
		return nil
	}
	return h.mcp.Status()
}

// connecting returns the MCP servers that are being connected for the first time, with
// their identifiers.
func (h *Host) connecting() map[string]string {
	if h.mcp == nil || h.mcpTried.Load() {
		return nil
	}
	out := map[string]string{}
	for _, st := range h.mcp.Status() {
		if st.State == mcp.StateConnecting {
			out[st.Name] = h.mcpNames[st.Name]
		}
	}
	h.mcpTried.Store(len(out) == 0)
	return out
}

// MCPServer is an MCP server that cells can use now.
type MCPServer = view.MCPServer

// MCPServers returns the MCP servers that have tools in Tools, by identifier, and then the
// servers that are being connected.
func (h *Host) MCPServers(s Session) []MCPServer {
	v := h.sessionView(s)
	return append(v.MCPServers(), v.ComingServers()...)
}

// MCPIdentifier is what programs call the MCP server of that name, as in
// MCP.<identifier>, or "".
func (h *Host) MCPIdentifier(name string) string {
	h.viewMu.Lock()
	defer h.viewMu.Unlock()
	return h.mcpNames[name]
}
