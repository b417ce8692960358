package declare

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/namespaces"
)

// Bounds of what a file says of one scope. The rest is any.
const (
	maxScope       = MaxBytes / 2
	maxScopeKey    = 256 // bytes
	maxScopeString = 200 // bytes of a string that is written out
	maxScopeItems  = 32  // items of a list, each with its own type
	maxFunctions   = 1_000
)

// Namespace returns the declaration of a namespace as one run has it: its data
// with their values, its callables as functions. The namespace is a member of the
// global interface Namespaces, and a constant of its own. Tool finds a tool of the
// namespace's plugin by name; of one that is nil, inputs and results are unknown.
func Namespace(reg *namespaces.Registration, scope *namespaces.Scope, tool func(name string) *catalog.Tool) []byte {
	w := &scopeWriter{prefix: "Namespaces_" + Identifier(reg.GlobalName) + "_", taken: map[string]bool{}, tool: tool, read: map[string]*target{}}
	w.classNames(scope)
	w.countUses(scope)
	w.b.WriteString("interface Namespaces {\n" + comment(aboutNamespace(reg), "  "))
	fmt.Fprintf(&w.b, "  readonly %s: ", Key(reg.GlobalName))
	w.value(scope.Root(), 2)
	fmt.Fprintf(&w.b, ";\n}\n\ndeclare const %s: Namespaces[%s];\n", reg.GlobalName, quote(reg.GlobalName))
	for class := range scope.Classes() {
		w.b.WriteString(w.class(class))
	}
	for _, s := range w.shared {
		w.b.WriteString(s.Declarations())
	}
	w.b.WriteString(w.types.String())
	return []byte(w.b.String())
}

// Unavailable returns the file of a namespace that says why there is nothing in
// it. It declares nothing.
func Unavailable(why string) []byte {
	var b strings.Builder
	for _, line := range lines(why) {
		b.WriteString("// " + line + "\n")
	}
	return []byte(b.String())
}

func aboutNamespace(reg *namespaces.Registration) []string {
	out := lines(reg.Description)
	if prompt := lines(reg.Prompt); len(prompt) > 0 {
		if len(out) > 0 {
			out = append(out, "")
		}
		out = append(out, prompt...)
	}
	return out
}

// scopeWriter writes one file.
type scopeWriter struct {
	prefix string
	taken  map[string]bool // names of types
	tool   func(name string) *catalog.Tool
	read   map[string]*target
	b      strings.Builder
	types  strings.Builder

	functions int
	uses      map[string]int
	shared    []*shared
}

// target is a tool that functions call, with its schemas read.
type target struct {
	*catalog.Tool
	input, output *source
	shared        *shared // nil until a type is shared
}

// target finds a tool by its name.
func (w *scopeWriter) target(name string) *target {
	if t := w.read[name]; t != nil {
		return t
	}
	tool := w.tool(name)
	if tool == nil {
		tool = &catalog.Tool{Name: name}
	}
	t := &target{Tool: tool, input: readSource(tool.Parameters), output: readSource(tool.Output)}
	w.read[name] = t
	return t
}

// full reports whether there is room for no more.
func (w *scopeWriter) full() bool {
	size := w.b.Len() + w.types.Len()
	for _, s := range w.shared {
		size += s.declared.Len()
	}
	return size > maxScope || w.functions >= maxFunctions
}

// value writes the type of what stands at a place.
func (w *scopeWriter) value(p namespaces.Node, indent int) {
	if v, ok := p.Value(); ok {
		w.b.WriteString(valueType(v))
		return
	}
	if c, ok := p.Call(); ok {
		f := w.function(function{}, c, indent)
		fmt.Fprintf(&w.b, "(%s) => %s", f.parameters, f.result)
		return
	}
	if w.array(p, indent) {
		return
	}
	w.object(p, indent)
}

// object writes the members of an object.
func (w *scopeWriter) object(p namespaces.Node, indent int) {
	entries, n, _ := p.Object()
	if n == 0 {
		w.b.WriteString("{}")
		return
	}
	pad := strings.Repeat(" ", indent+2)
	w.b.WriteString("{\n")
	left := 0
	for key, child := range entries {
		if w.full() || len(key) > maxScopeKey {
			left++
			continue
		}
		w.member(key, child, indent+2, pad)
	}
	if left > 0 {
		fmt.Fprintf(&w.b, "%s// and %d more\n%sreadonly [key: string]: any;\n", pad, left, pad)
	}
	w.b.WriteString(pad[2:] + "}")
}

func (w *scopeWriter) member(key string, p namespaces.Node, indent int, pad string) {
	if c, ok := p.Call(); ok {
		f := w.function(function{key: key}, c, indent)
		fmt.Fprintf(&w.b, "%s%s%s(%s): %s;\n", comment(f.about, pad), pad, Key(key), f.parameters, f.result)
		return
	}
	w.b.WriteString(pad + "readonly " + Key(key) + ": ")
	w.value(p, indent)
	w.b.WriteString(";\n")
}

// array writes a list item by item, a long one by what its items have in common.
// It reports whether p is one.
func (w *scopeWriter) array(p namespaces.Node, indent int) bool {
	items, n, ok := p.Array()
	if !ok {
		return false
	}
	if n > maxScopeItems {
		var kinds []expr
		for _, item := range items {
			kinds = append(kinds, expr{text: kindOf(item)})
		}
		e := joined(kinds, '|')
		if strings.Contains(e.text, "any") {
			e = expr{text: "any"}
		}
		w.b.WriteString("readonly " + e.within(0) + "[]")
		return true
	}
	w.b.WriteString("readonly [")
	for i, item := range items {
		if i > 0 {
			w.b.WriteString(", ")
		}
		if w.full() {
			w.b.WriteString("...any[]")
			break
		}
		w.value(item, indent)
	}
	w.b.WriteString("]")
	return true
}

// kindOf is the type of a plain value without its value, any of all others.
func kindOf(p namespaces.Node) string {
	v, _ := p.Value()
	n := jsonschema.Parse(v).Root()
	if n == nil || n.Kind == jsonschema.Array || n.Kind == jsonschema.Object {
		return "any"
	}
	return kindName(n)
}

// valueType is the type of one plain value.
func valueType(v json.RawMessage) string {
	n := jsonschema.Parse(v).Root()
	switch {
	case n == nil:
		return unknown
	case n.Kind == jsonschema.String && len(n.Text) > maxScopeString:
		return "string"
	}
	d := &document{Types: NewTypes("")}
	return d.literal(n, 0).text
}
