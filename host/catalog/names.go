package catalog

import (
	"maps"
	"slices"
)

// makeSafeNames gives each tool the name that is safe in JavaScript, and no
// tool a name that two would have.
func makeSafeNames(tools []*Tool) safeNames {
	ids := make(map[string]string, len(tools))
	for _, t := range tools {
		name := SafeName(t.Name)
		if _, twice := ids[name]; twice {
			ids[name] = ""
			continue
		}
		ids[name] = t.ID()
	}
	maps.DeleteFunc(ids, func(name, id string) bool {
		return id == "" || IsTaken(name)
	})
	return safeNames{ids: ids, json: compactJSON(ids)}
}

// SafeNames maps each name a guest may call a tool by, as tools.<name>, to the
// tool's id. Tools with equal safe names have no such name, nor do tools that would shadow
// search, describe or call.
func (c *Catalog) SafeNames() map[string]string { return maps.Clone(c.safe().ids) }

// SafeNamesJSON returns SafeNames as a JSON object. The bytes are shared: do
// not modify them.
func (c *Catalog) SafeNamesJSON() []byte { return c.safe().json }

// HasSafeName reports whether guests may call a tool as tools.<name>.
func (c *Catalog) HasSafeName(name string) bool {
	_, ok := c.safe().ids[name]
	return ok
}

// SafeNameList returns the names of SafeNames, sorted.
func (c *Catalog) SafeNameList() []string { return slices.Sorted(maps.Keys(c.safe().ids)) }

// IDsOfSafeName returns the ids of the tools with that safe name, in order. It also does so if
// no function has the name.
func (c *Catalog) IDsOfSafeName(name string) (ids []string) {
	for _, t := range c.guest {
		if SafeName(t.Name) == name {
			ids = append(ids, t.ID())
		}
	}
	return ids
}
