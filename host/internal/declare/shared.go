package declare

import (
	"maps"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/namespaces"
)

// shared has the types of a tool that several functions of a file call. Those that take
// more than a line get a name, so that they stand in the file once.
type shared struct {
	*Types
	output  *document // nil if the tool's output is written in place
	input   *document
	options map[string]*jsonschema.Node // by the fields that are no options; nil if written in place
}

// optionsUse tells the options of calls apart by what else gives fields of the input.
func optionsUse(c namespaces.Call) string {
	return c.Tool + "\x1f" + strings.Join(noOptions(c.Mapping), "\x1f") + "\x1f\x1f" + strings.Join(c.Mapping.OptionNames, "\x1f")
}

// noOptions are the fields of the input that options do not have.
func noOptions(m namespaces.Mapping) []string {
	return slices.Concat(m.Positional, slices.Sorted(maps.Keys(m.Fixed)))
}

// optionsOf returns what the schema of an input says of options.
func (d *document) optionsOf(m namespaces.Mapping) *jsonschema.Node {
	left := noOptions(m)
	if len(m.OptionNames) > 0 {
		for _, p := range d.doc.Root().Get("properties").Fields() {
			if !slices.Contains(m.OptionNames, p.Key) && !slices.Contains(left, p.Key) {
				left = append(left, p.Key)
			}
		}
	}
	return d.without(d.doc.Root(), left, 0)
}

// countUses counts how many calls have the same tool, and the same options of it.
func (w *scopeWriter) countUses(scope *namespaces.Scope) {
	w.uses = map[string]int{}
	for _, c := range scope.Calls() {
		w.uses[c.Tool]++
		if c.Mapping.Options {
			w.uses[optionsUse(c)]++
		}
	}
}

// sharedTypes returns the shared types of a tool.
func (w *scopeWriter) sharedTypes(tool *target) *shared {
	if tool.shared != nil {
		return tool.shared
	}
	types := NewTypes(strings.TrimRight(w.prefix+word(tool.Name), "_"))
	types.taken = w.taken
	s := &shared{Types: types, input: types.open(tool.input, "Input"), options: map[string]*jsonschema.Node{}}
	if tool.output != nil && long(tool.output, tool.output.doc.Root()) {
		s.output = types.open(tool.output, "Output")
		s.output.nameOf(s.output.doc.Root(), "Output")
	}
	tool.shared = s
	w.shared = append(w.shared, s)
	return s
}

// output is what a call returns, by its name if other calls return it too.
func (w *scopeWriter) output(tool *target, own *Types) *document {
	if w.uses[tool.Name] > 1 {
		if s := w.sharedTypes(tool); s.output != nil {
			return s.output
		}
	}
	return own.open(tool.output, "Output")
}

// options returns the name of the type of a call's options, "" if no other call has the same or
// if they are short.
func (w *scopeWriter) options(tool *target, c namespaces.Call) string {
	use := optionsUse(c)
	if !c.Mapping.Options || w.uses[use] < 2 || tool.input == nil {
		return ""
	}
	s := w.sharedTypes(tool)
	n, known := s.options[use]
	if !known {
		n = s.input.optionsOf(c.Mapping)
		if !long(tool.input, n) {
			n = nil
		}
		s.options[use] = n
	}
	if n == nil {
		return ""
	}
	s.input.nameOf(n, "Options")
	return s.input.part(n, 0)
}

// long reports whether a type takes more than a line.
func long(s *source, n *jsonschema.Node) bool {
	d := NewTypes("T").open(s, "T")
	return strings.Contains(d.typeOf(n, at{}).text, "\n")
}
