package catalog

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// safeNames are the functions guests find on tools, by name.
type safeNames struct {
	ids  map[string]string // safe name -> id
	json []byte
}

// takenNames never become functions: the catalog's own helpers, what
// JavaScript asks every object for, and names whose presence changes how
// await and JSON treat the object.
var takenNames = []string{"search", "describe", "call", "__proto__", "then", "toJSON"}

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

// IsTaken reports whether a safe name never becomes a function.
func IsTaken(name string) bool {
	return slices.Contains(takenNames, name) || strings.HasPrefix(name, "__quoin")
}

// SafeName returns a tool's name with each character that cannot stand in a
// JavaScript identifier replaced by "_", and a "_" before a leading digit.
// Reserved words stay: they are fine as property names.
func SafeName(name string) string {
	if isSafe(name) {
		return name
	}
	safe := strings.Map(func(r rune) rune {
		if identifierPart(r) {
			return r
		}
		return '_'
	}, name)
	if first, _ := utf8.DecodeRuneInString(safe); !identifierStart(first) {
		safe = "_" + safe
	}
	return safe
}

// isSafe is the common case: ASCII identifiers need no change.
func isSafe(name string) bool {
	for i := range len(name) {
		if c := rune(name[i]); c >= utf8.RuneSelf || !identifierPart(c) || i == 0 && !identifierStart(c) {
			return false
		}
	}
	return name != ""
}

// identifierStart reports whether r can start a JavaScript identifier.
func identifierStart(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '$' || r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return (unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)) && !unicode.Is(unicode.Pattern_Syntax, r)
}

// identifierPart reports whether r can stand inside a JavaScript identifier.
func identifierPart(r rune) bool {
	if r < utf8.RuneSelf {
		return identifierStart(r) || '0' <= r && r <= '9'
	}
	return identifierStart(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)
}

// SafeNames maps each name a guest may call a tool by, as tools.<name>, to the
// tool's id. Tools whose safe names are equal have no such name, nor do tools that
// would shadow search, describe or call.
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

// IDsOfSafeName returns the ids of the tools whose safe name that is, also when it
// makes no function, in order.
func (c *Catalog) IDsOfSafeName(name string) (ids []string) {
	for _, t := range c.guest {
		if SafeName(t.Name) == name {
			ids = append(ids, t.ID())
		}
	}
	return ids
}
