package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/internal/json5"
)

// Input is what a configuration is read from. Each part may be absent.
type Input struct {
	// File is the name of the file, and Text what it holds. A nil Text is no file.
	File string
	Text []byte
	// Environ is the environment, as os.Environ returns it.
	Environ []string
	// Set are assignments of the command line, PATH=VALUE. A VALUE is text, or
	// JSON5 for fields that are not.
	Set []string
}

// Origin is where a value came from.
type Origin struct {
	// Kind is "default", "file", "env" or "flag".
	Kind string `json:"kind"`
	// Name is the file, the environment variable, or "--set".
	Name   string `json:"name,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

func (o Origin) String() string {
	switch {
	case o.Line > 0:
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	case o.Name != "":
		return o.Name
	}
	return o.Kind
}

// Value is the value that a field has.
type Value struct {
	Field  string `json:"field"`
	Value  any    `json:"value"`
	Origin Origin `json:"origin"`
}

// Report is the outcome of reading.
type Report struct {
	// Values are the values of all fields, in the order of the table, and of the entries of
	// maps and lists that were given.
	Values []Value
	// Warnings are clamped numbers and unknown environment variables.
	Warnings []Problem

	objects map[string]Origin // where they start, by path
}

// Object returns where an object of a file starts, or what stands in its place.
func (r *Report) Object(path string) (Origin, bool) {
	o, ok := r.objects[path]
	return o, ok
}

// Read reads a configuration into the variables of the table's fields. The error
// is an *Error; the Report is complete in any case but for the values at fault.
func (t Table) Read(in Input) (*Report, error) {
	r := &reader{set: map[string]int{}}
	r.report.objects = map[string]Origin{}
	r.defaults("", t.Fields)
	if in.Text != nil {
		r.file(source{kind: "file", name: in.File, text: in.Text}, t.Fields)
	}
	r.environ(in.Environ, t)
	r.assignments(in.Set, t)
	for len(r.late) > 0 {
		next := r.late[0]
		r.late = r.late[1:]
		next()
	}
	r.order(t.Fields)
	if len(r.problems) == 0 {
		return &r.report, nil
	}
	return &r.report, &Error{Problems: r.problems}
}

// Amend replaces the value of a field that depends on another, with a warning that
// says why.
func (r *Report) Amend(path string, value any, why string) {
	for i := range r.Values {
		v := &r.Values[i]
		if v.Field != path {
			continue
		}
		v.Value = value
		r.Warnings = append(r.Warnings, Problem{Source: v.Origin.source(), Line: v.Origin.Line, Column: v.Origin.Column, Field: path, Message: why})
	}
}

// source is the origin as the source of a problem.
func (o Origin) source() string {
	if o.Name == "" {
		return o.Kind
	}
	return o.Name
}

// defaults notes the values that fields have before anything is read.
func (r *reader) defaults(path string, fields []Field) {
	for i := range fields {
		f := &fields[i]
		at := join(path, f.name)
		switch {
		case f.kind == kindObject:
			r.defaults(at, f.fields)
		case f.get != nil && !strings.HasPrefix(f.name, "$"):
			r.set[at] = len(r.report.Values)
			r.report.Values = append(r.report.Values, Value{Field: at, Value: f.get(), Origin: Origin{Kind: "default"}})
		}
	}
}

func (r *reader) file(s source, fields []Field) {
	doc, err := json5.Parse(s.text)
	if err != nil {
		p := Problem{Source: s.name, Message: "the text is not JSON5: " + err.Error()}
		if se, ok := err.(*json5.SyntaxError); ok {
			p.Line, p.Column = se.Pos.Line, se.Pos.Column
			p.Message = "the text is not JSON5: " + se.Message
		}
		r.problems = append(r.problems, p)
		return
	}
	if doc.Kind != json5.Object {
		r.expected(s, "", doc, "an object, as in { tools: { codeMode: true } }")
		return
	}
	r.object(s, "", doc, fields)
}

// order sorts values as the table has them and problems as their sources do.
func (r *reader) order(fields []Field) {
	rank := map[string]int{}
	rankFields(rank, "", fields)
	slices.SortStableFunc(r.report.Values, func(a, b Value) int {
		return cmp.Compare(rankOf(rank, a.Field), rankOf(rank, b.Field))
	})
	byPlace := func(a, b Problem) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.offset, b.offset)) }
	slices.SortStableFunc(r.problems, byPlace)
	slices.SortStableFunc(r.report.Warnings, byPlace)
}

func rankFields(rank map[string]int, path string, fields []Field) {
	for _, f := range fields {
		at := join(path, f.name)
		rank[at] = len(rank)
		rankFields(rank, at, f.fields)
	}
}

// rankOf is the place in the table of a path, or of what it is an entry of.
func rankOf(rank map[string]int, path string) int {
	for path != "" {
		if n, ok := rank[path]; ok {
			return n
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return len(rank)
}
