package view

import (
	"fmt"

	"github.com/quoinhq/quoin/internal/text"
)

// MCPServer is an MCP server that cells can use now.
type MCPServer struct {
	Identifier string `json:"identifier"` // its name in programs, as in MCP.<identifier>
	Name       string `json:"name"`
	Tools      int    `json:"tools"` // without the operations on resources and prompts
	Resources  bool   `json:"resources,omitempty"`
	Prompts    bool   `json:"prompts,omitempty"`
	// Connecting is set for a server that is being connected for the first time. Its tools
	// are not known. A program that names it waits for it.
	Connecting bool `json:"connecting,omitempty"`
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

// MaxMCPBlock is the most that a model is told of MCP servers in advance, in bytes.
const MaxMCPBlock = 4000

// maxToolNames bounds how many bytes of names of one server's tools that is: a server of
// a thousand tools costs no more than one of fifty.
const maxToolNames = 600

// MCPBlock has one line for each MCP server that the run can see, in at most room bytes.
// What servers say of themselves is not in it.
func MCPBlock(v *View, room int) string {
	groups, coming := v.mcpGroups(), v.comingLine()
	if len(groups) == 0 {
		return coming
	}
	room -= len(coming)
	head := "\n\nMCP servers, called as await MCP.SERVER.TOOL({ ... }). A tool takes one object and resolves to {content, structuredContent?, isError?}; " +
		"(await API.read(\"mcp/SERVER.d.ts\")).content has the signatures:\n"
	return head + text.Groups(groups, min(room-len(head), maxToolNames*len(groups)), func(n int) string {
		return fmt.Sprintf("and %d more: await API.list(\"mcp\")", n)
	}) + coming
}

// maxComing bounds the names of servers that are being connected, in bytes.
const maxComing = 300

// ComingServers returns the servers with tools that are not known yet.
func (v *View) ComingServers() (out []MCPServer) {
	for _, name := range v.Connecting {
		if id := v.mcpNames[name]; id != "" {
			out = append(out, MCPServer{Identifier: id, Name: name, Connecting: true})
		}
	}
	return out
}

// comingLine names the servers with tools that are not known yet.
func (v *View) comingLine() string {
	var names []string
	for _, s := range v.ComingServers() {
		names = append(names, "MCP."+s.Identifier)
	}
	if len(names) == 0 {
		return ""
	}
	return "\n\nMCP servers that are being connected: " + text.List(names, maxComing) + ". A program that names one of them waits for it."
}

// mcpGroups are the servers with their tools as programs call them.
func (v *View) mcpGroups() (groups []text.Group) {
	for i, s := range v.MCPServers() {
		g := text.Group{Name: s.Identifier, Count: s.Tools}
		if s.Name != s.Identifier {
			g.Note += fmt.Sprintf(", server %q", s.Name)
		}
		if s.Resources {
			g.Note += ", resources"
		}
		if s.Prompts {
			g.Note += ", prompts"
		}
		for _, t := range v.mcp()[i].tools {
			if t.group == "" {
				g.Parts = append(g.Parts, t.method)
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// MCPServers describes the MCP servers of a view.
func (v *View) MCPServers() []MCPServer {
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
