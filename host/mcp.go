package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
)

// defaultMCPWait is how long New waits for MCP servers that do not answer.
const defaultMCPWait = 5 * time.Second

// startMCP starts to keep the MCP servers connected, and waits until each was
// tried once or the time for that is over. One that is down does not stop a host.
func (h *Host) startMCP(ctx context.Context) error {
	servers, err := mcp.Connect(h.cfg.MCP, mcp.Options{Logger: h.log, Version: Version, OnChange: h.mcpChanged})
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
	h.mcp, h.mcpNames = servers, mcpServerIdentifiers(names)
	h.viewMu.Unlock()
	wait := h.cfg.MCPWait
	if wait == 0 {
		wait = defaultMCPWait
	}
	tried, cancel := context.WithTimeout(ctx, max(wait, 0))
	defer cancel()
	if servers.Tried(tried) != nil && ctx.Err() == nil {
		h.log.Info("some MCP servers are not connected yet")
	}
	return ctx.Err()
}

// mcpChanged makes the view again once there is one.
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
				return h.mcp.Call(ctx, t.Server, t.Name, c.Input)
			},
		})
	}
	return tools
}

// MCPStatus reports every MCP server of Config.MCP that is not disabled, by name,
// also those that are down.
func (h *Host) MCPStatus() []mcp.Status {
	if h.mcp == nil {
		return nil
	}
	return h.mcp.Status()
}

// MCPServer is an MCP server that cells can use now.
type MCPServer struct {
	Identifier string `json:"identifier"` // its name in programs, as in MCP.<identifier>
	Name       string `json:"name"`
	Tools      int    `json:"tools"` // without the operations on resources and prompts
	Resources  bool   `json:"resources,omitempty"`
	Prompts    bool   `json:"prompts,omitempty"`
}

// Line describes the server in one line for a model.
func (s MCPServer) Line() string {
	line := fmt.Sprintf("MCP.%s: %d tools", s.Identifier, s.Tools)
	if s.Tools == 1 {
		line = fmt.Sprintf("MCP.%s: 1 tool", s.Identifier)
	}
	if s.Resources {
		line += ", resources"
	}
	if s.Prompts {
		line += ", prompts"
	}
	if s.Name != s.Identifier {
		line += fmt.Sprintf(" (server %q)", s.Name)
	}
	return line + fmt.Sprintf(`. Signatures: await API.read("mcp/%s.d.ts").`, s.Identifier)
}

// MCPServers returns the MCP servers whose tools are among those of Tools, by
// identifier.
func (h *Host) MCPServers() []MCPServer { return h.MCPServersOf(Session{}) }

// MCPServersOf is MCPServers for one session, with the tools of ToolsOf.
func (h *Host) MCPServersOf(s Session) []MCPServer { return h.sessionView(s).mcpServers() }

// maxMCPBlock bounds what a model is told of MCP servers in advance, in bytes.
const maxMCPBlock = 4000

// mcpBlock has one line for each MCP server that the run can see. What servers say
// of themselves is not in it.
func mcpBlock(v *view) string {
	lines := v.mcpLines()
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n\nMCP servers. Each tool takes one object, as in await MCP.server.tool({ ... }), and resolves to {content, structuredContent?, isError?}:")
	room := maxMCPBlock - b.Len()
	for _, line := range lines {
		room -= len(line) + len("\n- ")
	}
	for i, line := range lines {
		line += v.toolNames(i, room/len(lines))
		if b.Len()+len(line) > maxMCPBlock {
			fmt.Fprintf(&b, "\n- and %d more: await API.list(\"mcp\")", len(lines)-i)
			break
		}
		b.WriteString("\n- " + line)
	}
	return b.String()
}

// toolNames lists the names that tools of a server have in programs, as far as there
// is room for them.
func (v *view) toolNames(server, room int) string {
	text := ""
	for _, t := range v.mcp()[server].tools {
		if t.group != "" {
			continue
		}
		next := ", " + t.method
		if text == "" {
			next = " Tools: " + t.method
		}
		if len(text)+len(next)+len(", ….") > room {
			if text != "" {
				text += ", …"
			}
			break
		}
		text += next
	}
	if text != "" {
		text += "."
	}
	return text
}

// mcpServers describes the MCP servers of a view.
func (v *view) mcpServers() []MCPServer {
	var out []MCPServer
	for _, s := range v.mcp() {
		line := MCPServer{Identifier: s.identifier, Name: s.name}
		for _, t := range s.tools {
			switch t.group {
			case "":
				line.Tools++
			case groupResources:
				line.Resources = true
			case groupPrompts:
				line.Prompts = true
			}
		}
		out = append(out, line)
	}
	return out
}
