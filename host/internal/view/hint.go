package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/jsontext"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/namespaces"
)

// A guest that fails at an unknown name asks for one of the virtual files below hint/.
// The file says what is wrong with the expression, which is an array of names.
//
//	hint/call/["tools","nosuch"]   tools.nosuch was called and is no function
//	hint/read/["MCP","github"]     a property of MCP.github was read, which is undefined
//	hint/name/["Isues"]            there is no variable Isues
//	hint/file/["mcp/nosuch.d.ts"]  API.read found no such file
//	hint/self/["pol"]              a value of the program's own has no method pol
//	hint/field/["page","issues"]   a property of page.issues was read, which is undefined; page is the program's own
const PrefixHint = "hint/"

const (
	hintCall  = "call"
	hintName  = "name"
	hintFile  = "file"
	hintSelf  = "self"
	hintField = "field"

	maxHintPath = 16
	nearest     = 3 // names that a hint offers
)

// Hints explains the expressions of a run that lead to nothing.
type Hints struct {
	View   *View
	Layers policy.Layers
	// Scope returns the scope of a namespace, or nil if the run has not made it.
	Scope func(namespaceID string) *namespaces.Scope
	// Servers returns the states of the MCP servers.
	Servers func() []mcp.Status
	// Coming returns the plugins that have not started yet.
	Coming func() []string
	// Used returns the tools that the run has described or called, in order of their ids.
	Used func() []*catalog.Tool
}

// Explain answers such a question in sentences for the model. It is false if nothing
// is wrong with the expression, or if Quoin does not define it.
func (h Hints) Explain(question string) (data []byte, found bool) {
	kind, list, _ := strings.Cut(question, "/")
	var path []string
	if json.Unmarshal([]byte(list), &path) != nil || len(path) == 0 || len(path) > maxHintPath {
		return nil, false
	}
	text := h.hintOf(kind, path)
	return []byte(text), text != ""
}

func (h Hints) hintOf(kind string, path []string) string {
	v := h.View
	switch {
	case kind == hintName:
		return h.hintVariable(path[0])
	case kind == hintFile:
		return v.hintFile(path[0])
	case kind == hintSelf:
		return h.hintMethod(path[0])
	case kind == hintField:
		return h.hintOwnField(path)
	case path[0] == "namespaces" && len(path) > 1:
		return h.hintNamespace(kind, path, path[1:])
	case len(path) > 1 && path[0] == "tools":
		return h.hintTool(path)
	case len(path) > 1 && path[0] == "MCP":
		return h.hintMCP(kind, path)
	case len(path) > 1 && guestMembers[path[0]] != nil:
		return hintMember(path)
	}
	if _, ok := v.namespaceCalled(path[0]); ok {
		return h.hintNamespace(kind, path, path)
	}
	return ""
}

// namespaceCalled returns the visible namespace with that global.
func (v *View) namespaceCalled(global string) (*namespaces.Registration, bool) {
	for i := range v.Namespaces {
		if v.Namespaces[i].GlobalName == global {
			return &v.Namespaces[i], true
		}
	}
	return nil, false
}

// hintTool explains tools.<name>.
func (h Hints) hintTool(path []string) string {
	v, name := h.View, path[1]
	if slices.Contains(guestMembers["tools"], name) || v.Catalog.HasSafeName(name) {
		return ""
	}
	const list = "Object.keys(tools) lists the names; await tools.search(\"words\") finds tools by what they do."
	if ids := v.Catalog.IDsOfSafeName(name); len(ids) > 0 {
		return written(path[:2]) + " is no function, because " + callByID(ids)
	}
	offers := v.elsewhere(name)
	for _, n := range text.Nearest(name, v.Catalog.SafeNameList(), nearest) {
		offers = append(offers, written([]string{"tools", n}))
	}
	return missing(path[:2], offers, h.coming()+list)
}

// coming says which plugins have not started yet: what a program lacks may be theirs.
func (h Hints) coming() string {
	plugins := h.Coming()
	if len(plugins) == 0 {
		return ""
	}
	return "It may be of a plugin that is still starting (" + strings.Join(plugins, ", ") + "): then run the program again in a few seconds. "
}

// callByID says how to call the tools of one safe name that is no function.
func callByID(ids []string) string {
	why := "the name is taken. Call the tool by its id: "
	if len(ids) > 1 {
		why = "several tools have the name. Call one by its id: "
	}
	var calls []string
	for _, id := range ids[:min(len(ids), nearest)] {
		calls = append(calls, fmt.Sprintf("tools.call(%q, input)", id))
	}
	return why + strings.Join(calls, " or ") + "."
}

// elsewhere returns the expressions for what has that very name, but is no tool of
// the global tools.
func (v *View) elsewhere(name string) (found []string) {
	if v.Catalog.HasSafeName(name) {
		found = append(found, written([]string{"tools", name}))
	}
	for i := range v.Namespaces {
		if sameLetters(v.Namespaces[i].GlobalName, name) {
			found = append(found, v.Namespaces[i].GlobalName)
		}
	}
	for _, s := range v.mcp() {
		if sameLetters(s.identifier, name) {
			found = append(found, "MCP."+s.identifier)
		}
		for i := range s.tools {
			if t := &s.tools[i]; t.group == "" && (sameLetters(t.method, name) || sameLetters(t.tool.Name, name)) {
				found = append(found, "MCP."+s.identifier+"."+t.path())
			}
		}
	}
	return found
}

// hintNamespace explains an expression that starts with a namespace's global; path
// is the expression from there.
func (h Hints) hintNamespace(kind string, whole, path []string) string {
	v := h.View
	reg, ok := v.namespaceCalled(path[0])
	if !ok {
		var globals []string
		for i := range v.Namespaces {
			globals = append(globals, v.Namespaces[i].GlobalName)
		}
		offers := text.Nearest(path[0], globals, nearest)
		return missing(whole[:2], offers, "Object.keys(namespaces) lists the namespaces.")
	}
	scope := h.Scope(reg.ID)
	if scope == nil {
		return "" // the guest cannot have looked into it
	}
	before := len(whole) - len(path)
	at := scope.Root()
	for i, name := range path[1:] {
		next, ok := at.Child(name)
		if ok {
			at = next
			continue
		}
		here := whole[:before+i+1]
		if _, isCall := at.Call(); isCall {
			return fmt.Sprintf("%s is a function: call it, and await what it returns, before using %s.", written(here), name)
		}
		offers := verbsOf(reg, scope, name)
		for _, n := range text.Nearest(name, at.Keys(), nearest) {
			offers = append(offers, written(append(slices.Clone(here), n)))
		}
		return missing(whole[:before+i+2], offers, lists(reg, here))
	}
	if _, isCall := at.Call(); isCall || kind != hintCall {
		return ""
	}
	if _, isValue := at.Value(); isValue {
		return written(whole) + " is a value, not a function. " + lists(reg, whole[:len(whole)-1])
	}
	return written(whole) + " is an object, not a function. " + lists(reg, whole)
}

// verbsOf returns the verbs of a namespace that call the tool of a name, the shortest
// first.
func verbsOf(reg *namespaces.Registration, scope *namespaces.Scope, tool string) (found []string) {
	for path, c := range scope.Calls() {
		if c.Tool == tool && !namespaces.IsMethod(path) {
			found = append(found, written(slices.Concat([]string{reg.GlobalName}, path)))
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return found
}

func lists(reg *namespaces.Registration, object []string) string {
	return fmt.Sprintf("Object.keys(%s) lists what is there; await API.read(\"namespaces/%s.d.ts\") describes it.", written(object), reg.GlobalName)
}

// guestMembers are the members of the guest's own objects, without the tools.
var guestMembers = map[string][]string{
	"API":         {"list", "read"},
	"tools":       {"call", "describe", "search"},
	"programs":    {"input", "list", "run", "save"},
	"results":     {"delete", "load", "save"},
	"performance": {"now", "timeOrigin"},
	"console":     {"assert", "debug", "dir", "error", "info", "log", "table", "trace", "warn"},
}

func hintMember(path []string) string {
	members := guestMembers[path[0]]
	if slices.Contains(members, path[1]) {
		return ""
	}
	var offers []string
	for _, n := range text.Nearest(path[1], members, nearest) {
		offers = append(offers, path[0]+"."+n)
	}
	return missing(path[:2], offers, path[0]+" has "+strings.Join(members, ", ")+".")
}

// hintFile explains an API file that does not exist.
func (v *View) hintFile(path string) string {
	files := append([]string{"guest.d.ts"}, v.Declarations.paths()...)
	for i := range v.Namespaces {
		files = append(files, "namespaces/"+v.Namespaces[i].GlobalName+".d.ts")
	}
	offers := text.Nearest(path, files, nearest)
	for i := range offers {
		offers[i] = fmt.Sprintf("%q", offers[i])
	}
	return didYouMean(offers) + "API.list() names every file."
}

// absentGlobals are what programs often reach for and no cell has.
var absentGlobals = strings.Fields("Buffer Bun Deno WebSocket XMLHttpRequest axios document exports fetch fs global importScripts module process window")

// otherSystems are names that models bring from other systems and languages, with what
// a cell has in their place.
var otherSystems = map[string]string{
	"functions": "tools", "actions": "tools", "default_api": "tools", "print": "text, console.log", "puts": "text, console.log",
	"echo": "text, console.log", "sleep": "setTimeout", "None": "null", "True": "true", "False": "false", "len": "length", "str": "String",
	"Intl": "toFixed, padStart, toISOString",
}

// ownGlobals are the names that a cell has from Quoin in any case.
var ownGlobals = []string{"ALL_TOOLS", "API", "MCP", "console", "json", "namespaces", "programs", "results", "text", "tools", "yield_control"}

// hintVariable explains a variable that does not exist.
func (h Hints) hintVariable(name string) string {
	v := h.View
	if _, there := v.namespaceCalled(name); there {
		return name + " is there now, and was not when this program started. Run the program again."
	}
	if slices.Contains(absentGlobals, name) {
		return "programs have no modules, files, environment or network of their own; tools reach the outside. await tools.search(\"words\") finds them."
	}
	offers := v.elsewhere(name)
	if other, ok := otherSystems[name]; ok {
		offers = append(offers, other)
	}
	known := slices.Clone(ownGlobals)
	for i := range v.Namespaces {
		known = append(known, v.Namespaces[i].GlobalName)
	}
	for _, n := range text.Nearest(name, known, nearest) {
		if !slices.Contains(offers, n) {
			offers = append(offers, n)
		}
	}
	return strings.TrimSpace(didYouMean(offers) + h.coming())
}

// missing says that an expression leads to nothing.
func missing(path, offers []string, list string) string {
	return written(path) + " does not exist. " + didYouMean(offers) + list
}

// didYouMean offers what may have been meant; "" if nothing can have been.
func didYouMean(offers []string) string {
	if len(offers) == 0 {
		return ""
	}
	return "Did you mean " + strings.Join(offers[:min(len(offers), nearest)], ", ") + "? "
}

// written is how a program writes a path of names.
func written(path []string) string {
	var b strings.Builder
	for i, name := range path {
		switch {
		case namespaces.IsIdentifier(name) && i == 0:
			b.WriteString(name)
		case namespaces.IsIdentifier(name):
			b.WriteString("." + name)
		default:
			quoted, err := jsontext.Marshal(text.Cut(name, 128))
			if err != nil {
				quoted = []byte(`"?"`)
			}
			b.WriteString("[" + string(quoted) + "]")
		}
	}
	return b.String()
}

// sameLetters reports whether two names differ in case and separators at most.
func sameLetters(a, b string) bool {
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, s)
	}
	return a == b || letters(a) != "" && letters(a) == letters(b)
}
