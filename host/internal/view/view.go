// Package view says what a run can reach: the catalog of its tools, the namespaces that
// are visible with them, the files that declare both, and hints for names that do not exist.
//
// A [View] is immutable and safe for concurrent use. A change of plugins or MCP servers
// makes a new one. [View.Derive] narrows a view by rules and adds tools of a caller, and
// an [Access] holds the view that one run has now.
package view

import (
	"slices"
	"strings"
	"sync"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/namespaces"
)

// View is what cells can reach at one moment: the catalog and the namespaces it
// makes visible. It is immutable; a change of plugins makes a new one.
type View struct {
	Catalog      *catalog.Catalog
	Registry     *namespaces.Registry // that the catalog's tools came with
	Refused      map[string]error     // why, by the plugins with namespaces that are not in registry
	mcpNames     map[string]string    // identifiers of MCP servers in programs, by name
	Namespaces   []namespaces.Registration
	Sources      map[string]int // tools by source, for telemetry
	Declarations *declarations  // what API.list and API.read serve
	mcp          func() []mcpServer
	Owners       func() []string // of its tools, without callers
	Connecting   []string        // MCP servers without tools yet: they are being connected for the first time
	derived      viewCache       // of this view, by rules and by tools of callers
}

// New returns what c makes visible of the namespaces in registry. The names are the
// identifiers of MCP servers in programs.
func New(c *catalog.Catalog, registry *namespaces.Registry, mcpNames map[string]string) *View {
	v := &View{Catalog: c, Registry: registry, mcpNames: mcpNames, Namespaces: registry.Visible(c), Sources: countSources(c)}
	v.Owners = sync.OnceValue(func() []string { return ownersIn(c) })
	v.mcp = sync.OnceValue(func() []mcpServer { return mcpView(c, mcpNames) })
	v.Declarations = newDeclarations(v.declare)
	return v
}

// Namespace returns the visible namespace of that id.
func (v *View) Namespace(id string) (*namespaces.Registration, bool) {
	for i := range v.Namespaces {
		if v.Namespaces[i].ID == id {
			return &v.Namespaces[i], true
		}
	}
	return nil, false
}

func countSources(c *catalog.Catalog) map[string]int {
	out := map[string]int{string(catalog.SourceQuoin): 0, string(catalog.SourceMCP): 0, string(catalog.SourceClient): 0}
	for source, n := range c.Counts() {
		out[string(source)] = n
	}
	return out
}

// Search finds tools. Tools of MCP servers say how they are called, since that is not
// through tools.
func (v *View) Search(query string, limit int) []catalog.Entry {
	return v.SearchIn(v.Catalog, query, limit)
}

// SearchIn is Search in a catalog that has the tools of the view, and others.
func (v *View) SearchIn(c *catalog.Catalog, query string, limit int) []catalog.Entry {
	found := c.Search(query, limit)
	for i := range found {
		if found[i].Source == catalog.SourceMCP {
			found[i].Call = v.mcpSignature(found[i].ID)
		}
	}
	return found
}

// maxSignature bounds what a search says of the input of one MCP tool, in bytes.
const maxSignature = 400

// mcpSignature is the call of an MCP tool with the shape of its input, in a line.
func (v *View) mcpSignature(id string) string {
	tool, ok := v.Catalog.ByID(id)
	if !ok {
		return ""
	}
	input := strings.Join(strings.Fields(catalog.Shape(tool.Parameters)), " ")
	if len(input) > maxSignature || input == "unknown" {
		input = "{…}"
	}
	return v.MCPPath(tool) + "(" + input + ")"
}

// Entries returns the entries of all tools, each with how it is called.
func (v *View) Entries() []catalog.Entry {
	list := v.Catalog.Entries()
	for i := range list {
		if tool, ok := v.Catalog.ByID(list[i].ID); ok && tool.Source == catalog.SourceMCP {
			list[i].Call = v.MCPPath(tool)
		} else if ok {
			list[i].Call = v.Catalog.Call(tool)
		}
	}
	return list
}

// MCPPath is how the guest writes a tool, for events.
func (v *View) MCPPath(tool *catalog.Tool) string {
	for _, s := range v.mcp() {
		if s.name != tool.Owner {
			continue
		}
		if t := s.byName[tool.Name]; t != nil {
			return "MCP." + s.identifier + "." + t.path()
		}
	}
	return ""
}

// maxOwners bounds the owners that a record names.
const maxOwners = 256

// ownersIn returns the owners of the tools of a catalog, sorted, without the callers
// that bring their own.
func ownersIn(c *catalog.Catalog) []string {
	seen := map[string]bool{}
	var out []string
	for _, t := range c.Tools() {
		name := string(t.Source) + ":" + t.Owner
		if t.Source != catalog.SourceClient && !seen[name] && len(out) < maxOwners {
			seen[name] = true
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
