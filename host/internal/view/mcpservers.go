package view

import (
	"fmt"
	"strings"
)

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

// maxMCPBlock bounds what a model is told of MCP servers in advance, in bytes.
const maxMCPBlock = 4000

// maxToolNames bounds how many bytes of names of one server's tools that is: a server of
// a thousand tools costs no more than one of fifty.
const maxToolNames = 600

// MCPBlock has one line for each MCP server that the run can see. What servers say
// of themselves is not in it.
func MCPBlock(v *View) string {
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
		line += v.toolNames(i, min(maxToolNames, room/len(lines)))
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
func (v *View) toolNames(server, room int) string {
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
