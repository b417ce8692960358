package pluginlint

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// confusable are globals of the guest that another spelling would be taken for.
var confusable = []string{"tools", "namespaces", "text", "json", "results", "console", "MCP", "API", "ALL_TOOLS", "yield_control", "crypto",
	"JSON", "Math", "Date", "Object", "Array", "String", "Number", "Map", "Set", "Promise", "Error", "Symbol", "Proxy", "Reflect", "Intl"}

// namespace warns about one namespace. scope is nil if it could not be made.
func (r *Report) namespace(d *protocol.Description, n protocol.NamespaceInfo, scope *namespaces.Scope) {
	where := "namespace " + n.ID
	if c := len([]rune(strings.TrimSpace(n.Description))); c < shortDescription {
		r.add(Warning, "short-namespace-description", where, fmt.Sprintf("the description %q has %d characters; a model chooses by it", n.Description, c),
			"say in one line what "+n.GlobalName+" is for")
	}
	if len(n.Prompt) > longPrompt {
		r.add(Warning, "long-prompt", where, fmt.Sprintf("the prompt has %d bytes, which every run pays for", len(n.Prompt)), "teach the verbs that are needed often; the declarations have the others")
	}
	r.globalName(where, d, n)
	if scope == nil {
		return
	}
	v := verbsOf(scope)
	r.verbs(where, d, n, v, methodsOf(scope))
	for _, text := range []struct{ name, text string }{{"description", n.Description}, {"prompt", n.Prompt}} {
		r.taught(where, n.GlobalName, text.name, text.text, scope, v)
	}
	if size := len(scope.Guest()); size > hugeScope {
		r.add(Warning, "huge-scope", where, fmt.Sprintf("its scope has %d bytes, which every run carries", size), "put large data behind a tool")
	}
}

// globalName warns about a global that is easily taken for something else.
func (r *Report) globalName(where string, d *protocol.Description, n protocol.NamespaceInfo) {
	for _, other := range confusable {
		if strings.EqualFold(other, n.GlobalName) {
			r.add(Warning, "confusing-global", where, fmt.Sprintf("the global %s differs from %s of the guest by capitals only", n.GlobalName, other), "choose another name")
		}
	}
	for _, other := range d.Namespaces {
		if other.ID < n.ID && strings.EqualFold(other.GlobalName, n.GlobalName) {
			r.add(Warning, "confusing-global", where, fmt.Sprintf("the global %s differs from %s of namespace %s by capitals only", n.GlobalName, other.GlobalName, other.ID), "choose another name")
		}
	}
	if first, size := utf8.DecodeRuneInString(n.GlobalName); unicode.IsLower(first) {
		r.add(Warning, "global-case", where, fmt.Sprintf("the global %s starts with a small letter; a variable of a cell shadows it easily", n.GlobalName),
			"name it "+string(unicode.ToUpper(first))+n.GlobalName[size:])
	}
}

// verb is one callable of a scope.
type verb struct {
	path string // as cells write it, after the global
	call namespaces.Call
}

// verbsOf are the callables of a scope, in order, without the methods of results.
func verbsOf(scope *namespaces.Scope) []verb {
	var out []verb
	for path, c := range scope.Calls() {
		if !namespaces.IsMethod(path) {
			out = append(out, verb{access(scope.Root(), path), c})
		}
	}
	return out
}

// methodsOf are the methods of the results of a scope's calls.
func methodsOf(scope *namespaces.Scope) []verb {
	var out []verb
	for path, c := range scope.Calls() {
		if namespaces.IsMethod(path) {
			out = append(out, verb{"." + path[0] + "#" + path[2], c})
		}
	}
	return out
}

// access is how a cell writes a path that leads into a scope.
func access(at namespaces.Node, path []string) string {
	var b strings.Builder
	for _, segment := range path {
		if _, _, isList := at.Array(); isList {
			b.WriteString("[" + segment + "]")
		} else {
			b.WriteString(property(segment))
		}
		at, _ = at.Child(segment)
	}
	return b.String()
}

// property is how a cell writes the access to a key.
func property(key string) string {
	if namespaces.IsIdentifier(key) {
		return "." + key
	}
	return "[" + strconv.Quote(key) + "]"
}

// verbs warns about callables that fail whenever they are called, or cannot be
// called by their name, and about tools that nothing leads to.
func (r *Report) verbs(where string, d *protocol.Description, n protocol.NamespaceInfo, verbs, methods []verb) {
	if len(verbs) == 0 {
		r.add(Warning, "no-verbs", where, "nothing in its scope can be called", "add a verb, or offer the data by a tool")
		return
	}
	used := map[string]bool{}
	for _, v := range slices.Concat(verbs, methods) {
		used[v.call.Tool] = true
		if strings.Contains(v.path, `["`) {
			r.add(Warning, "unsafe-verb", where, fmt.Sprintf("%s%s cannot be written with a dot; models will write it wrongly", n.GlobalName, v.path), "name it like a JavaScript identifier")
		}
		tool, ok := d.Tool(v.call.Tool)
		if !ok {
			continue // CheckTargets has said so
		}
		err := v.call.Check(tool.Parameters, tool.Output)
		switch {
		case errors.Is(err, namespaces.InvalidClass):
			r.add(Warning, "methods", where, fmt.Sprintf("the results of %s%s cannot have their methods: %v", n.GlobalName, v.path, err),
				"name a key that the results of tool "+tool.Name+" have, and methods that are no fields of them")
		case err != nil:
			r.add(Warning, "mapping", where, fmt.Sprintf("%s%s leads to tool %s, which cannot take its arguments: %v", n.GlobalName, v.path, tool.Name, err),
				"name parameters that the tool has")
		}
	}
	for _, tool := range n.RequiredTools {
		if !used[tool] {
			r.add(Warning, "unused-tool", where, fmt.Sprintf("it requires tool %s, but no verb leads there; where that tool is denied, %s vanishes for nothing", tool, n.GlobalName),
				"add a verb, or do not require the tool")
		}
	}
}

// taught warns about calls in a text that do not exist in the scope.
func (r *Report) taught(where, global, textName, taught string, scope *namespaces.Scope, verbs []verb) {
	known := make([]string, len(verbs))
	for i, v := range verbs {
		known[i] = global + v.path
	}
	seen := map[string]bool{}
	call := regexp.MustCompile(`(?i:(^|[^\w$.])(` + regexp.QuoteMeta(global) + `))((?:\.[A-Za-z_$][\w$]*|\[\d+\]|\["[^"]*"\])+)\s*\(`)
	calls := call.FindAllStringSubmatch(taught, -1)
	if len(calls) == 0 {
		r.otherGlobal(where, global, textName, taught, scope)
	}
	for _, m := range calls {
		written, path := m[2]+m[3], m[3]
		if seen[written] {
			continue
		}
		seen[written] = true
		why := ""
		switch {
		case m[2] != global:
			why = fmt.Sprintf("the global is %s", global)
		case !callable(scope, path):
			why = "its scope has no such verb"
		default:
			continue
		}
		fix := "the verbs are " + strings.Join(known[:min(len(known), 8)], ", ")
		if callable(scope, path) {
			fix = "write " + global + path
		} else if near := text.Nearest(global+path, known, 1); len(near) > 0 {
			fix = "write " + near[0]
		}
		r.add(Warning, "unknown-verb", where, fmt.Sprintf("the %s teaches %s(…), but %s", textName, written, why), fix)
	}
}

// anyCall is a call by a path.
var anyCall = regexp.MustCompile(`(?:^|[^\w$.])([A-Za-z_$][\w$]*)((?:\.[A-Za-z_$][\w$]*)+)\s*\(`)

// otherGlobal warns about a text that has no call by the global, but calls of its
// verbs by another name: mostly the one the global had before.
func (r *Report) otherGlobal(where, global, textName, text string, scope *namespaces.Scope) {
	for _, m := range anyCall.FindAllStringSubmatch(text, -1) {
		if callable(scope, m[2]) {
			r.add(Warning, "unknown-verb", where, fmt.Sprintf("the %s teaches %s(…), but the global is %s", textName, m[1]+m[2], global), "write "+global+m[2])
			return
		}
	}
}

// segment is one step of a path as cells write it.
var segment = regexp.MustCompile(`\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\["([^"]*)"\]`)

// callable reports whether a path leads to a verb, or to a method of plain data.
func callable(scope *namespaces.Scope, path string) bool {
	at := scope.Root()
	for _, m := range segment.FindAllStringSubmatch(path, -1) {
		if _, ok := at.Call(); ok {
			return false // a verb has no members
		}
		if _, ok := at.Value(); ok {
			return true // a text or number has methods of its own
		}
		if entries, _, ok := at.Object(); ok {
			found := false
			for key, child := range entries {
				if key == m[1]+m[3] && m[2] == "" {
					at, found = child, true
					break
				}
			}
			if !found {
				return false
			}
			continue
		}
		if m[2] == "" {
			return true // a list has methods
		}
		items, n, _ := at.Array()
		i, err := strconv.Atoi(m[2])
		if err != nil || i >= n {
			return false
		}
		for j, child := range items {
			if j == i {
				at = child
			}
		}
	}
	_, ok := at.Call()
	return ok
}
