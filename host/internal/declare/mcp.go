package declare

import (
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/text"
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

// mcpTypes are the types of one server. Its prefix stands in place of @.
const mcpTypes = `
/** What a tool returns, as its server sent it. A tool that failed sets isError; the call does not throw. */
interface @Result<T = unknown> {
  content?: @Content[];
  structuredContent?: T;
  isError?: boolean;
  [key: string]: unknown;
}
interface @Content {
  /** "text", "image", "audio", "resource_link" or "resource". */
  type: string;
  text?: string;
  /** Base64. */
  data?: string;
  mimeType?: string;
  uri?: string;
  name?: string;
  resource?: @Resource;
  [key: string]: unknown;
}
interface @Resource {
  uri: string;
  mimeType?: string;
  text?: string;
  /** Base64. */
  blob?: string;
  [key: string]: unknown;
}
`

// mcpOwn are the members that every server has in addition to its tools.
const mcpOwn = `    readonly $serverName: string;
    /** Describes one tool, by its name here or at the server, or all; with schema: true, with JSON Schemas. */
    $api(tool?: string | null, options?: { schema?: boolean } | null): Promise<{
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
	"resources.list": "(input?: { cursor?: string }, options?: { signal: AbortSignal }): Promise<{ resources: { uri: string; name: string; title?: string; description?: string; mimeType?: string; size?: number; [key: string]: unknown }[]; nextCursor?: string; [key: string]: unknown }>",
	"resources.read": "(input: { uri: string }, options?: { signal: AbortSignal }): Promise<{ contents: @Resource[]; [key: string]: unknown }>",
	"prompts.list":   "(input?: { cursor?: string }, options?: { signal: AbortSignal }): Promise<{ prompts: { name: string; title?: string; description?: string; arguments?: { name: string; description?: string; required?: boolean }[]; [key: string]: unknown }[]; nextCursor?: string; [key: string]: unknown }>",
	"prompts.get":    "(input: { name: string; arguments?: { [name: string]: string } }, options?: { signal: AbortSignal }): Promise<{ description?: string; messages: { role: string; content: @Content }[]; [key: string]: unknown }>",
}

// maxMethods is about how many bytes of functions one file declares in full.
const maxMethods = MaxBytes * 3 / 4

// MCP returns the declaration of an MCP server, an identifier in ASCII, with some
// of its functions, or all. The server is a member of the global interface
// MCPServers, so that any selection of files makes one program. If a server is too
// large for one file, a comment names its last functions.
func MCP(identifier, serverName string, methods []Method) []byte {
	prefix := "MCP_" + identifier + "_"
	var b, types strings.Builder
	fmt.Fprintf(&b, "interface MCPServers {\n  /** MCP server %s. Each tool takes one object. */\n  readonly %s: {\n%s", harmless(quote(serverName)), Key(identifier), mcpOwn)
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
				fmt.Fprintf(&b, "    readonly %s: {\n", group)
			}
		}
		types.WriteString(mcpMethod(&b, prefix, m))
	}
	closeGroup(&b, group)
	b.WriteString("  };\n}\n")
	b.WriteString(strings.ReplaceAll(mcpTypes, "@", prefix))
	b.WriteString(types.String())
	b.WriteString(signalDeclaration)
	return []byte(b.String())
}

func closeGroup(b *strings.Builder, group string) {
	if group != "" {
		b.WriteString("    };\n")
	}
}

// mcpMethod writes one function and returns the named types it needs.
func mcpMethod(b *strings.Builder, prefix string, m Method) (declarations string) {
	if m.Group != "" {
		about := comment(lines(m.Tool.Description), "      ")
		fmt.Fprintf(b, "%s      %s%s;\n", about, m.Name, strings.ReplaceAll(mcpOperations[m.Group+"."+m.Name], "@", prefix))
		return ""
	}
	types := NewTypes(prefix + m.Name)
	optional := ""
	if !needsInput(m.Tool.Parameters) {
		optional = "?"
	}
	input := types.Expression(m.Tool.Parameters, "Input", 4)
	if input == unknown {
		input = "{ [key: string]: unknown }"
	}
	result := prefix + "Result"
	if output := types.Expression(m.Tool.Output, "Output", 4); output != unknown {
		result += "<" + output + ">"
	}
	b.WriteString(comment(aboutMethod(m), "    "))
	fmt.Fprintf(b, "    %s(input%s: %s, options%s): Promise<%s>;\n", Key(m.Name), optional, input, optionsAfterFields, result)
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
		out = append(out, "At the server: "+text.Shorten(harmless(m.Tool.Name), maxLineBytes))
	}
	return out
}

// mcpRest names the functions that a file has no room to declare.
func mcpRest(b *strings.Builder, identifier string, methods []Method) {
	fmt.Fprintf(b, "    // %d more tools, which MCP.%s.$api(name) describes one by one:\n", len(methods), identifier)
	end := b.Len() + MaxBytes/16
	for i, m := range methods {
		if b.Len() > end {
			fmt.Fprintf(b, "    // and %d others: see MCP.%s.$api()\n", len(methods)-i, identifier)
			return
		}
		name := m.Name
		if m.Group != "" {
			name = m.Group + "." + name
		}
		fmt.Fprintf(b, "    // %s\n", name)
	}
}

// MCPIndex returns the file that says which MCP servers there are. Each line is
// about one. It declares nothing itself.
func MCPIndex(about []string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "// %d MCP servers. Call a tool as MCP.<server>.<tool>({ ... }) with one object, and {signal} after it if need be; the result is the server's own.\n", len(about))
	for _, line := range about {
		fmt.Fprintf(&b, "// %s\n", text.Shorten(harmless(line), maxLineBytes))
	}
	return []byte(b.String())
}
