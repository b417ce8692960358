package declare

import (
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
)

// Method is one function of an MCP server in the guest.
type Method struct {
	// Group is the object of the server that the function is in: "" for the server
	// itself, else resources or prompts.
	Group string
	// Name is an identifier in ASCII.
	Name string
	Tool *catalog.Tool
}

// mcpHead is what every server has.
const mcpHead = `  /** What a tool returns, as its server sent it. A tool that failed sets isError; the call does not throw. */
  interface ToolResult<T = unknown> {
    content?: Content[];
    structuredContent?: T;
    isError?: boolean;
    [key: string]: unknown;
  }
  interface Content {
    /** "text", "image", "audio", "resource_link" or "resource". */
    type: string;
    text?: string;
    /** Base64. */
    data?: string;
    mimeType?: string;
    uri?: string;
    name?: string;
    resource?: ResourceContent;
    [key: string]: unknown;
  }
  interface ResourceContent {
    uri: string;
    mimeType?: string;
    text?: string;
    /** Base64. */
    blob?: string;
    [key: string]: unknown;
  }
  const $serverName: string;
  /** Describes one tool, by its name here or at the server, or all; with schema: true, with JSON Schemas. */
  function $api(tool?: string, options?: { schema?: boolean }): Promise<{
    kind: "mcp_api";
    scope: "server" | "tool";
    server: { identifier: string; serverName: string; toolCount: number };
    header?: string;
    tools: { method: string; path: string; mcpTool: string; operation?: string; description: string }[];
    schemas?: { [path: string]: { input: unknown; output?: unknown } };
    note: string;
  }>;
`

// mcpOperations are the types of the operations on resources and prompts.
var mcpOperations = map[string]string{
	"resources.list": "(input?: { cursor?: string }): Promise<{ resources: { uri: string; name: string; title?: string; description?: string; mimeType?: string; size?: number; [key: string]: unknown }[]; nextCursor?: string; [key: string]: unknown }>",
	"resources.read": "(input: { uri: string }): Promise<{ contents: ResourceContent[]; [key: string]: unknown }>",
	"prompts.list":   "(input?: { cursor?: string }): Promise<{ prompts: { name: string; title?: string; description?: string; arguments?: { name: string; description?: string; required?: boolean }[]; [key: string]: unknown }[]; nextCursor?: string; [key: string]: unknown }>",
	"prompts.get":    "(input: { name: string; arguments?: { [name: string]: string } }): Promise<{ description?: string; messages: { role: string; content: Content }[]; [key: string]: unknown }>",
}

// maxMethods is about how many bytes of functions one file declares in full.
const maxMethods = MaxBytes * 3 / 4

// MCP returns the declaration of an MCP server, an identifier in ASCII, with some
// of its functions, or all. It is a namespace of its own, so that any selection of
// files makes one program. Of a server too large for one file the last functions
// are named in a comment.
func MCP(identifier, serverName string, methods []Method) []byte {
	var b, types strings.Builder
	fmt.Fprintf(&b, "/** MCP server %s. Each tool takes one object. */\ndeclare namespace MCP.%s {\n%s", harmless(quote(serverName)), identifier, mcpHead)
	group := ""
	for i, m := range methods {
		if b.Len()+types.Len() > maxMethods {
			closeGroup(&b, group)
			group = ""
			mcpRest(&b, identifier, methods[i:])
			break
		}
		if m.Group != group {
			closeGroup(&b, group)
			if group = m.Group; group != "" {
				fmt.Fprintf(&b, "  namespace %s {\n", group)
			}
		}
		types.WriteString(mcpMethod(&b, identifier, m))
	}
	closeGroup(&b, group)
	b.WriteString("}\n")
	b.WriteString(types.String())
	return []byte(b.String())
}

func closeGroup(b *strings.Builder, group string) {
	if group != "" {
		b.WriteString("  }\n")
	}
}

// mcpMethod writes one function and returns the named types it needs.
func mcpMethod(b *strings.Builder, identifier string, m Method) (declarations string) {
	if m.Group != "" {
		about := comment(lines(m.Tool.Description), "    ")
		fmt.Fprintf(b, "%s    function %s%s;\n", about, m.Name, mcpOperations[m.Group+"."+m.Name])
		return ""
	}
	types := NewTypes("MCP_" + identifier + "_" + m.Name)
	optional := ""
	if !needsInput(m.Tool.Parameters) {
		optional = "?"
	}
	input := types.Of(m.Tool.Parameters, "Input", 2)
	if input == unknown {
		input = "{ [key: string]: unknown }"
	}
	result := "ToolResult"
	if output := types.Of(m.Tool.Output, "Output", 2); output != unknown {
		result += "<" + output + ">"
	}
	b.WriteString(comment(aboutMethod(m), "  "))
	fmt.Fprintf(b, "  function %s(input%s: %s): Promise<%s>;\n", m.Name, optional, input, result)
	return types.Declarations()
}

// aboutMethod is the comment of a tool's function.
func aboutMethod(m Method) []string {
	var out []string
	if m.Tool.Label != "" {
		out = append(lines(m.Tool.Label), "")
	}
	out = append(out, lines(m.Tool.Description)...)
	if m.Tool.Name != m.Name {
		if len(out) > 0 && out[len(out)-1] != "" {
			out = append(out, "")
		}
		out = append(out, "At the server: "+cut(harmless(m.Tool.Name), maxLineBytes))
	}
	return out
}

// mcpRest names the functions that a file has no room to declare.
func mcpRest(b *strings.Builder, identifier string, methods []Method) {
	fmt.Fprintf(b, "  // %d more tools, which MCP.%s.$api(name) describes one by one:\n", len(methods), identifier)
	end := b.Len() + MaxBytes/16
	for i, m := range methods {
		if b.Len() > end {
			fmt.Fprintf(b, "  // and %d others: see MCP.%s.$api()\n", len(methods)-i, identifier)
			return
		}
		name := m.Name
		if m.Group != "" {
			name = m.Group + "." + name
		}
		fmt.Fprintf(b, "  // %s\n", name)
	}
}

// MCPIndex returns the file that says which MCP servers there are. Each line is
// about one. It declares nothing itself.
func MCPIndex(about []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "// %d MCP servers. Call a tool as MCP.<server>.<tool>({ ... }) with one object; the result is the server's own.\n", len(about))
	for _, line := range about {
		fmt.Fprintf(&b, "// %s\n", cut(harmless(line), maxLineBytes))
	}
	return []byte(b.String())
}
