package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
)

// startMCP starts to keep the MCP servers connected, and waits until each was
// tried once or the time for that is over. One that is down does not stop a host.
func (h *Host) startMCP(ctx context.Context) error {
	servers, err := mcp.Connect(h.cfg.MCP.Servers, mcp.Options{Logger: h.log, Version: Version, PinDir: h.cfg.MCP.PinDir, Pins: h.cfg.MCP.Pins, SignIns: h.cfg.MCP.SignIns, OnChange: h.mcpChanged})
	if err != nil {
		return err
	}
	names := servers.Names()
	for _, t := range h.cfg.Tools {
		if t.Source == catalog.SourceMCP && !slices.Contains(names, t.Owner) {
			names = append(names, t.Owner)
		}
	}
	h.viewMu.Lock()
	h.mcp, h.mcpNames = servers, view.MCPServerIdentifiers(names)
	h.viewMu.Unlock()
	wait := h.cfg.MCP.Wait
	if wait == 0 {
		wait = h.cfg.times.Own.MCPWait
	}
	tried, cancel := context.WithTimeout(ctx, max(wait, 0))
	defer cancel()
	if servers.Tried(tried) != nil && ctx.Err() == nil {
		h.log.Info("some MCP servers are not connected yet")
	}
	return ctx.Err()
}

// mcpChanged makes a new view once the host has one.
func (h *Host) mcpChanged() {
	h.viewMu.Lock()
	defer h.viewMu.Unlock()
	if h.view.Load() == nil {
		return
	}
	if err := h.refresh(); err != nil {
		h.log.Error("tools were not updated after a change of MCP servers", "error", err)
	}
}

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

// MCPServers returns the MCP servers whose tools are among those of Tools, by
// identifier, and after them those that are being connected.
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
