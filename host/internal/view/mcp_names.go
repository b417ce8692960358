package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
)

// The groups of operations, which are objects of a server in the guest.
const (
	groupResources = "resources"
	groupPrompts   = "prompts"
)

// MCPOperations are the operations by the name of their tool: group and verb.
var MCPOperations = map[string][2]string{
	string(mcp.ResourcesList): {groupResources, "list"},
	string(mcp.ResourcesRead): {groupResources, "read"},
	string(mcp.PromptsList):   {groupPrompts, "list"},
	string(mcp.PromptsGet):    {groupPrompts, "get"},
}

// mcpServer is one server as the guest sees it.
type mcpServer struct {
	identifier, name string
	tools            []mcpFunction
	byMethod, byName map[string]*mcpFunction // only tools have a method here
}

// named returns the tool of that identifier, or else of that name; nil without one.
func (s *mcpServer) named(name string) *mcpFunction {
	t := cmp.Or(s.byMethod[name], s.byName[name])
	if t != nil && t.group != "" {
		return nil
	}
	return t
}

// index makes the tools findable, once all are there.
func (s *mcpServer) index() {
	s.byMethod, s.byName = make(map[string]*mcpFunction, len(s.tools)), make(map[string]*mcpFunction, len(s.tools))
	for i := range s.tools {
		t := &s.tools[i]
		if s.byName[t.tool.Name] = t; t.group == "" {
			s.byMethod[t.method] = t
		}
	}
}

// mcpFunction is one function of a server in the guest.
type mcpFunction struct {
	// method is the function's name, group the object it is in: "" for the server.
	method, group string
	tool          *catalog.Tool
}

// path is how the guest writes the function after the server.
func (t *mcpFunction) path() string {
	if t.group == "" {
		return t.method
	}
	return t.group + "." + t.method
}

// mcpView lists the servers of a catalog that have a tool in it, by identifier.
func mcpView(c *catalog.Catalog, identifiers map[string]string) []mcpServer {
	byName := map[string]*mcpServer{}
	taken := map[string]map[string]bool{}
	for _, t := range c.Tools() { // by owner and name
		if t.Source != catalog.SourceMCP {
			continue
		}
		s := byName[t.Owner]
		if s == nil {
			s = &mcpServer{identifier: identifiers[t.Owner], name: t.Owner}
			byName[t.Owner] = s
			taken[t.Owner] = map[string]bool{}
		}
		if op, ok := MCPOperations[t.Name]; ok {
			s.tools = append(s.tools, mcpFunction{method: op[1], group: op[0], tool: t})
			continue
		}
		s.tools = append(s.tools, mcpFunction{method: freeIdentifier(t.Name, "tool", taken[t.Owner], reservedMCPTools), tool: t})
	}
	out := make([]mcpServer, 0, len(byName))
	for _, s := range byName {
		if s.identifier != "" {
			s.index()
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b mcpServer) int { return cmp.Compare(a.identifier, b.identifier) })
	return out
}

// MCPServerIdentifiers names the servers of a host, whether they are there or not:
// a name must not change its meaning when another server comes.
func MCPServerIdentifiers(names []string) map[string]string {
	taken := map[string]bool{}
	out := make(map[string]string, len(names))
	for _, name := range slices.Sorted(slices.Values(names)) {
		out[name] = freeIdentifier(name, "server", taken, nil)
	}
	return out
}

// reservedMCPTools are the names a server's object has already, and those that
// would change what await and JSON make of it.
var reservedMCPTools = map[string]bool{groupResources: true, groupPrompts: true, "then": true, "toJSON": true}

// reservedIdentifiers are words that are no names in programs or declarations,
// and properties that every object may be asked for.
var reservedIdentifiers = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields(`arguments async await break case catch class const continue debugger default delete do
		else enum eval export extends false finally for function if implements import in instanceof interface let new null
		package private protected public return static super switch this throw true try typeof undefined var void while
		with yield constructor prototype __proto__ any unknown never object string number boolean symbol bigint`) {
		words[w] = true
	}
	return words
}()

// freeIdentifier makes an identifier of a name: its letters and digits, the words
// between other characters joined in camel case. One that is taken or reserved
// gets the first of 2, 3, … that makes it free. It is taken from then on.
func freeIdentifier(name, fallback string, taken, reserved map[string]bool) string {
	base := camelCase(name)
	if base == "" {
		base = fallback
	}
	free := base
	for n := 2; taken[free] || reserved[free] || reservedIdentifiers[free]; n++ {
		free = base + strconv.Itoa(n)
	}
	taken[free] = true
	return free
}

// maxIdentifier bounds an identifier made of a long name.
const maxIdentifier = 100

func camelCase(name string) string {
	var b strings.Builder
	upper := false
	for i := 0; i < len(name) && b.Len() < maxIdentifier; i++ {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		switch {
		case !letter && (c < '0' || c > '9'):
			upper = true
			continue
		case b.Len() == 0 && !letter:
			continue // an identifier starts with a letter
		case b.Len() == 0 && c <= 'Z':
			c += 'a' - 'A'
		case b.Len() > 0 && upper && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		upper = false
		b.WriteByte(c)
	}
	return b.String()
}
