package declare

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/namespaces"
)

// What a function of a namespace takes besides its arguments. A function that takes the
// whole input as its first argument ignores what else follows; others would take anything
// but a signal for an argument.
const (
	optionsAfterInput  = "options?: CallOptions | null"
	optionsAfterFields = "?: { signal: AbortSignal }"
	anySignal          = "{ signal?: AbortSignal }"
	anyObject          = "{ [key: string]: unknown }"
	tagParameters      = "strings: TemplateStringsArray, ...values: unknown[]"
)

// deepestIndent bounds how far types are indented.
const deepestIndent = 16

// function is one callable of a scope.
type function struct {
	key      string            // its name, "" in a list
	receiver *namespaces.Class // of a method

	about           []string
	aboutParameters []string // the end of about
	parameters      string
	result          string
}

// function writes a callable of a scope, for a line that is indented by so many
// spaces.
func (w *scopeWriter) function(f function, c namespaces.Call, indent int) function {
	w.functions++
	tool := w.target(c.Tool)
	prefix := w.prefix
	if f.receiver != nil {
		prefix += word(f.receiver.Name) + "_"
	}
	types := NewTypes(strings.TrimRight(prefix+word(f.key), "_"))
	types.taken = w.taken
	s := signature{mapping: c.Mapping, method: f.receiver != nil, indent: min(indent, deepestIndent), document: types.open(tool.input, "Input"), named: w.options(tool, c)}
	f.parameters = s.parameters(tool.Tool)
	if c.Template {
		f.parameters = tagParameters
		s.about = []string{"A tag: stands in front of a template literal, without parentheses."}
	}
	f.result = "Promise<" + w.result(w.output(tool, types), c, s.indent) + ">"
	f.about, f.aboutParameters = append(aboutFunction(tool.Tool), s.about...), s.about
	w.types.WriteString(types.Declarations())
	return f
}

// aboutFunction returns the comment of a function before the comment of its parameters.
func aboutFunction(tool *catalog.Tool) []string {
	out := lines(tool.Description)
	if len(out) == 0 {
		out = lines(tool.Label)
	}
	if tool.ReadOnly {
		out = append(out, "Changes nothing.")
	}
	return out
}

// signature makes the parameters of one function.
type signature struct {
	*document // of the input, nil without one
	mapping   namespaces.Mapping
	method    bool   // the first argument is the key of the object
	named     string // the type of the options, "" to write it in place
	indent    int
	about     []string // of the parameters
	used      []string // names of parameters
}

func (s *signature) parameters(tool *catalog.Tool) string {
	switch s.mapping.Kind {
	case namespaces.MapDefault:
		return s.input(len(bytes.TrimSpace(tool.Parameters)) == 0)
	case namespaces.MapPositional:
		return s.fields()
	}
	return "...args: unknown[]"
}

// input writes the parameters of a function that takes the input as its first argument, but
// for what is fixed.
func (s *signature) input(free bool) string {
	if s.document == nil {
		of := anyObject
		if !free { // what is not understood may be anything
			of = unknown
		}
		return "input?: " + of + ", " + optionsAfterInput
	}
	of := s.without(s.doc.Root(), slices.Sorted(maps.Keys(s.mapping.Fixed)), 0)
	text := s.part(of, s.indent)
	if text == unknown {
		text = anyObject
	}
	optional := "?"
	if s.needs(of, 0) {
		optional = ""
	}
	return "input" + optional + ": " + text + ", " + optionsAfterInput
}

// fields writes the parameters of a function with arguments that are properties of the
// input.
func (s *signature) fields() string {
	names := s.mapping.Positional
	if s.method {
		names = names[1:]
	}
	last := -1 // of those that must be given
	for i, name := range names {
		if s.document != nil && s.requires(s.doc.Root(), name, 0) {
			last = i
		}
	}
	options := ""
	if s.mapping.Options {
		var needed bool
		if options, needed = s.options(); needed {
			last = len(names)
		}
	}
	var out []string
	for i, name := range names {
		optional := "?"
		if i <= last { // what is left out in front of others would be null
			optional = ""
		}
		out = append(out, s.parameter(name)+optional+": "+s.field(name))
	}
	if s.mapping.Rest != "" {
		return strings.Join(append(out, "..."+s.parameter(s.mapping.Rest)+": "+s.rest()), ", ")
	}
	if s.mapping.Options {
		optional := "?"
		if last == len(names) {
			optional = ""
		}
		return strings.Join(append(out, s.free("options")+optional+": "+options), ", ")
	}
	return strings.Join(append(out, s.free("options")+optionsAfterFields), ", ")
}

// options is the type of the argument after those that are properties, and whether it
// must be given.
func (s *signature) options() (text string, needed bool) {
	of := expr{text: anyObject}
	if s.document != nil {
		rest := s.optionsOf(s.mapping)
		needed = s.needs(rest, 0)
		if s.named != "" {
			of = expr{text: s.named}
		} else if e := s.expression(rest, s.indent); e.text != unknown {
			of = e
		}
	}
	return of.within('&') + " & " + anySignal, needed
}

// field is the type of a property.
func (s *signature) field(name string) string {
	if s.document == nil {
		return unknown
	}
	p := s.propertyOf(s.doc.Root(), name, 0)
	if p == nil {
		return unknown
	}
	return s.part(p, s.indent)
}

// rest is the type of the arguments that become one property, a list.
func (s *signature) rest() string {
	if s.document == nil {
		return unknown + "[]"
	}
	item := s.itemOf(s.propertyOf(s.doc.Root(), s.mapping.Rest, 0), 0)
	if item == nil {
		return unknown + "[]"
	}
	text := s.part(item, s.indent)
	if plain(text) {
		return text + "[]"
	}
	return "(" + text + ")[]"
}

// parameter names the parameter of a property and says what it is.
func (s *signature) parameter(name string) string {
	parameter := s.free(name)
	var said []string
	if parameter != name {
		said = append(said, fmt.Sprintf("The property %s.", harmless(quote(text.Shorten(name, maxFactBytes)))))
	}
	if s.document != nil {
		said = append(said, about(s.propertyOf(s.doc.Root(), name, 0))...)
	}
	if len(said) > 0 {
		s.about = append(s.about, "@param "+parameter+" "+text.Shorten(sentences(said), maxLineBytes))
	}
	return parameter
}

// sentences joins the lines that are not empty. What stands before "Length: 1 to 9."
// and the like ends as a sentence does.
func sentences(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if line == "" {
			continue
		}
		b.WriteString(line)
		if i == len(lines)-1 {
			break
		}
		if i == len(lines)-2 && !strings.ContainsAny(line[len(line)-1:], ".:;,!?") {
			b.WriteByte('.')
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// reservedParameters are identifiers that name no parameter, or mean something
// else there.
var reservedParameters = func() map[string]bool {
	words := map[string]bool{}
	for w := range strings.FieldsSeq(`arguments async await break case catch class const constructor continue debugger declare
		default delete do else enum eval export extends false finally for function if implements import in instanceof
		interface let new null out override package private protected public readonly return static super switch this
		throw true try typeof undefined var void while with yield abstract accessor`) {
		words[w] = true
	}
	return words
}()

// free makes a parameter's name that no other has.
func (s *signature) free(wish string) string {
	name := wish
	if !plain(name) || len(name) > maxFactBytes {
		name = word(name)
	}
	if reservedParameters[name] || name == "" {
		name += "_"
	}
	base := name
	for i := 2; slices.Contains(s.used, name); i++ {
		name = fmt.Sprintf("%s%d", base, i)
	}
	s.used = append(s.used, name)
	return name
}
