package catalog

import (
	"fmt"
	"strings"
)

// makeLookup maps ids and names to tools. A name keeps all its tools, so that an
// ambiguous one can be explained.
func (c *Catalog) makeLookup() *lookup {
	l := &lookup{byID: make(map[string]*Tool, len(c.tools)), byName: make(map[string][]*Tool, len(c.guest))}
	for _, t := range c.tools {
		l.byID[t.ID()] = t
	}
	lists := make([]*Tool, len(c.guest)) // one backing array: names are nearly always unique
	copy(lists, c.guest)
	for i, t := range c.guest {
		if have := l.byName[t.Name]; have != nil {
			l.byName[t.Name] = append(have, t)
		} else {
			l.byName[t.Name] = lists[i : i+1 : i+1]
		}
	}
	return l
}

// ByID returns the tool with an exact id, MCP tools included. It is for the
// host; what a guest asks for goes through Resolve.
func (c *Catalog) ByID(id string) (*Tool, bool) {
	t, ok := c.lookup().byID[id]
	return t, ok
}

// ByOwner returns the tool that a plugin, or the host as "core", owns under a
// name. Tools of MCP servers and clients are never found.
func (c *Catalog) ByOwner(name, owner string) (*Tool, bool) {
	if strings.Contains(owner, ":") {
		return nil, false
	}
	return c.ByID(string(SourceQuoin) + ":" + owner + ":" + name)
}

// Owned reports whether the catalog has a tool of that name owned by that
// plugin; it makes a Catalog the Tools of package namespaces.
func (c *Catalog) Owned(toolName, pluginID string) bool {
	_, ok := c.ByOwner(toolName, pluginID)
	return ok
}

// Resolve returns the tool a guest means by an exact id, or by a name that
// only one of the tools it sees has. Spaces around it do not matter. It fails
// with UnknownTool, AmbiguousTool, or NotCallable for MCP tools, which guests
// reach as MCP.<server>.<tool>. The messages say what to do.
func (c *Catalog) Resolve(idOrName string) (*Tool, error) {
	wanted := strings.TrimSpace(idOrName)
	l := c.lookup()
	if t, ok := l.byID[wanted]; ok {
		if t.Source == SourceMCP {
			return nil, &Error{Code: NotCallable, ToolID: wanted, Message: fmt.Sprintf(
				"MCP tool %s is not reached through tools; call it as MCP.<server>.<tool>(input).", shown(wanted))}
		}
		return t, nil
	}
	named := l.byName[wanted]
	switch len(named) {
	case 0:
		return nil, c.unknown(wanted)
	case 1:
		return named[0], nil
	}
	return nil, &Error{Code: AmbiguousTool, Message: fmt.Sprintf(
		"Ambiguous tool name: %s; use an exact tool id. Candidates: %s.", shown(wanted), idList(named[:min(len(named), maxSuggestions)]))}
}

// unknown makes the error of a tool that is not there.
func (c *Catalog) unknown(wanted string) *Error {
	message := fmt.Sprintf("Unknown tool id: %s.", shown(wanted))
	if similar := c.similar(wanted); len(similar) > 0 {
		message += fmt.Sprintf(" Did you mean: %s?", idList(similar))
	}
	message += " Use tools.search(query) to find tools."
	return &Error{Code: UnknownTool, Message: message}
}

// idList writes the ids of tools for a message.
func idList(tools []*Tool) string {
	ids := make([]string, len(tools))
	for i, t := range tools {
		ids[i] = t.ID()
	}
	return strings.Join(ids, ", ")
}
