package catalog

import (
	"fmt"
	"slices"
	"sync"
)

// New builds a catalog. Control and direct-only tools are left out; a tool without a usable
// name or owner (InvalidTool) and a second tool with the same id (DuplicateID)
// are refused. The order of tools does not matter: the catalog is sorted, the
// host's tools first, then plugins, MCP servers and clients, each by id.
//
// New looks at names only. Schemas are first looked at when they are needed,
// so that one bad schema spoils one tool.
func New(tools []Tool, o Options) (*Catalog, error) {
	kept, err := accept(tools)
	if err != nil {
		return nil, err
	}
	return arrange(kept, o.withDefaults())
}

// accept returns copies of the tools that a catalog holds, their defaults filled
// in.
//
// Control tools and direct-only tools are left out without an error: whether a
// guest sees them is a matter of the catalog, not of the caller.
func accept(tools []Tool) ([]*Tool, error) {
	kept := make([]Tool, 0, len(tools))
	for i := range tools {
		if IsControl(tools[i].Name) || tools[i].DirectOnly {
			continue
		}
		t := tools[i]
		if err := t.normalize(); err != nil {
			return nil, err
		}
		kept = append(kept, t)
	}
	list := make([]*Tool, len(kept))
	for i := range kept {
		list[i] = &kept[i]
	}
	return list, nil
}

// arrange makes a catalog of tools in any order. It keeps the slice.
func arrange(tools []*Tool, o Options) (*Catalog, error) {
	slices.SortFunc(tools, compareTools)
	for i, t := range tools {
		if i > 0 && compareTools(tools[i-1], t) == 0 {
			return nil, &Error{Code: DuplicateID, ToolID: t.ID(), Message: fmt.Sprintf("two tools have the id %s; rename one of them", shown(t.ID()))}
		}
	}
	return assemble(tools, o), nil
}

// assemble makes a catalog of tools in catalog order. It keeps the slice.
//
// Everything derived from the tools is made on first use. Most catalogs serve a
// few calls, and an index of thousands of tools takes longer than those calls.
func assemble(tools []*Tool, o Options) *Catalog {
	c := &Catalog{options: o, tools: tools}
	for _, t := range tools {
		if t.Source != SourceMCP {
			c.guest = append(c.guest, t)
		}
	}
	c.lookup = sync.OnceValue(c.makeLookup)
	c.index = sync.OnceValue(func() *index { return makeIndex(c.tools) })
	c.entriesJSON = sync.OnceValue(func() []byte { return compactJSON(c.GuestEntries()) })
	c.safe = sync.OnceValue(func() safeNames { return makeSafeNames(c.guest) })
	c.quick = sync.OnceValue(c.makeQuickIndex)
	c.fingerprint = sync.OnceValue(c.makeFingerprint)
	return c
}
