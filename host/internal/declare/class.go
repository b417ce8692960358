package declare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/namespaces"
)

// classNames keeps the names of the interfaces of classes from other types.
func (w *scopeWriter) classNames(scope *namespaces.Scope) {
	for class := range scope.Classes() {
		w.taken[w.className(class)] = true
	}
}

func (w *scopeWriter) className(class *namespaces.Class) string {
	return w.prefix + Identifier(class.Name)
}

// class writes the interface of the methods of a class.
func (w *scopeWriter) class(class *namespaces.Class) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n/** What results with %s can do; copies of them cannot. */\ninterface %s {\n", harmless(quote(class.Key)), w.className(class))
	described := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(class.Methods)) {
		if w.full() {
			b.WriteString("  // and more\n  readonly [key: string]: any;\n")
			break
		}
		call := class.Methods[name]
		f := w.function(function{key: name, receiver: class}, call, 2)
		about := f.about
		if described[call.Tool] {
			about = f.aboutParameters
		}
		described[call.Tool] = true
		fmt.Fprintf(&b, "%s  %s(%s): %s;\n", comment(about, "  "), Key(name), f.parameters, f.result)
	}
	b.WriteString("}\n")
	return b.String()
}

// result is the type of the results of a call.
func (w *scopeWriter) result(d *document, c namespaces.Call, indent int) string {
	class := c.Returns
	switch {
	case class == nil:
		return d.whole(indent)
	case d == nil && c.ReturnsIn != "":
		return anyObject
	case d == nil:
		return anyObject + " & Partial<" + w.className(class) + ">"
	case c.ReturnsIn == "":
		return w.resultAt(d, d.doc.Root(), class, indent)
	}
	root := d.doc.Root()
	field := d.propertyOf(root, c.ReturnsIn, 0)
	if field == nil {
		return d.whole(indent)
	}
	optional := "?"
	if d.requires(root, c.ReturnsIn, 0) {
		optional = ""
	}
	others := expr{text: "Omit<" + d.reference(root) + ", " + quote(c.ReturnsIn) + ">"}
	if d.reference(root) == "" {
		others = d.expression(d.without(root, []string{c.ReturnsIn}, 0), indent)
	}
	return others.within('&') + " & { " + Key(c.ReturnsIn) + optional + ": " + w.resultAt(d, field, class, indent) + " }"
}

// resultAt is the type of what fits a schema and has methods.
func (w *scopeWriter) resultAt(d *document, root *jsonschema.Node, class *namespaces.Class, indent int) string {
	types := root.Get("type").Words()
	if item := d.itemOf(root, 0); item != nil {
		list := "(" + w.withMethods(d, item, class, indent) + ")[]"
		if slices.Contains(types, "null") {
			list += " | null"
		}
		return list
	}
	if len(types) == 1 && types[0] == "object" {
		return w.withMethods(d, root, class, indent)
	}
	whole := d.part(root, indent)
	if whole == unknown {
		return anyObject + " & Partial<" + w.className(class) + ">"
	}
	return "(Extract<" + whole + ", object> & " + w.methods(d, root, class) + ") | Exclude<" + whole + ", object>"
}

// withMethods is the type of objects that fit a schema and have the methods of a class.
func (w *scopeWriter) withMethods(d *document, n *jsonschema.Node, class *namespaces.Class, indent int) string {
	e := d.expression(n, indent)
	if e.text == unknown {
		e.text = anyObject
	}
	return e.within('&') + " & " + w.methods(d, n, class)
}

// methods is the type of the methods that values of a schema have, if not all of them.
func (w *scopeWriter) methods(d *document, n *jsonschema.Node, class *namespaces.Class) string {
	if d.requires(n, class.Key, 0) {
		return w.className(class)
	}
	return "Partial<" + w.className(class) + ">"
}
