package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/internal/json5"
	"github.com/quoinhq/quoin/internal/text"
)

// source is where a value stands.
type source struct {
	kind string // "file", "env", "flag"
	name string
	text []byte // of a file
}

// rank is the place of a source in the order of precedence, the weakest first.
func (s source) rank() int { return slices.Index([]string{"file", "env", "flag"}, s.kind) }

// origin is what stands at an offset of the source.
func (s source) origin(offset int) Origin {
	o := Origin{Kind: s.kind, Name: s.name}
	if s.text != nil {
		at := json5.At(s.text, offset)
		o.Line, o.Column = at.Line, at.Column
	}
	return o
}

// reader reads one configuration.
type reader struct {
	report   Report
	problems []Problem
	set      map[string]int // index into report.Values by path
	late     []func()       // what waits until all sources have been read
}

// problem notes a fault of the value at offset.
func (r *reader) problem(s source, offset int, path string, v *json5.Value, format string, args ...any) Problem {
	p := Problem{Source: s.name, Field: path, Message: fmt.Sprintf(format, args...), rank: s.rank(), offset: offset}
	if s.text != nil {
		at := json5.At(s.text, offset)
		p.Line, p.Column = at.Line, at.Column
	}
	if v != nil {
		p.Got = shown(v)
	}
	return p
}

func (r *reader) fail(s source, offset int, path string, v *json5.Value, format string, args ...any) {
	r.problems = append(r.problems, r.problem(s, offset, path, v, format, args...))
}

// expected notes that v is not what the field takes.
func (r *reader) expected(s source, path string, v *json5.Value, want string) {
	r.fail(s, v.Offset, path, v, "is %s, expected %s", shown(v), want)
}

// shown is a value as JSON, bounded.
func shown(v *json5.Value) string {
	switch v.Kind {
	case json5.Number:
		return cut(v.Text)
	case json5.Object, json5.Array:
		if len(v.Items)+len(v.Members) == 0 {
			return "an empty " + strings.Fields(v.Kind.String())[1]
		}
		return v.Kind.String()
	}
	b, err := v.AppendJSON(nil)
	if err != nil {
		return v.Kind.String()
	}
	return cut(string(b))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// object reads the members of v as fields, in the order of the table, so that
// what a field inherits from an earlier one is there.
func (r *reader) object(s source, path string, v *json5.Value, fields []Field) {
	members := r.members(s, path, v, fields)
	for i := range fields {
		if m, ok := members[fields[i].name]; ok {
			r.field(s, join(path, m.Name), m.Value, &fields[i])
		}
	}
}

// members returns v's members by name. Unknown and repeated names are faults.
func (r *reader) members(s source, path string, v *json5.Value, fields []Field) map[string]json5.Member {
	known := names(fields)
	out := make(map[string]json5.Member, len(v.Members))
	for _, m := range v.Members {
		if !slices.Contains(known, m.Name) {
			r.fail(s, m.Offset, join(path, cut(m.Name)), nil, "%s", unknown(m.Name, known))
			continue
		}
		r.once(s, path, m, out)
	}
	return out
}

// once takes a member unless there is one of its name already.
func (r *reader) once(s source, path string, m json5.Member, have map[string]json5.Member) {
	if first, twice := have[m.Name]; twice {
		r.fail(s, m.Offset, join(path, cut(m.Name)), nil, "stands twice, first at %s; keep one of them", json5.At(s.text, first.Offset))
		return
	}
	have[m.Name] = m
}

func names(fields []Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.name
	}
	return out
}

// elsewhere are fields of other programs' files, which users paste, and where their
// content belongs here.
var elsewhere = map[string]string{
	"mcpServers": "is no such field; put its servers into mcp.servers: {mcp: {servers: {NAME: {command: …}}}}",
}

func unknown(name string, known []string) string {
	if where, ok := elsewhere[name]; ok {
		return where
	}
	if like := text.Nearest(name, known, 1); len(like) > 0 {
		return "is no such field; did you mean " + like[0] + "?"
	}
	return "is no such field; the fields here are " + strings.Join(known, ", ")
}

// field reads one value.
func (r *reader) field(s source, path string, v *json5.Value, f *Field) {
	switch f.kind {
	case kindBool:
		if v.Kind != json5.Bool {
			r.expected(s, path, v, f.want())
			return
		}
		r.keep(s, path, v, f, v.Bool)
	case kindInt:
		r.integer(s, path, v, f)
	case kindText:
		if text, ok := r.text(s, path, v, f, f.want()); ok {
			r.keep(s, path, v, f, text)
		}
	case kindTexts:
		r.texts(s, path, v, f)
	case kindObject:
		r.group(s, path, v, f)
	case kindMap:
		r.entries(s, path, v, f)
	case kindList:
		r.items(s, path, v, f)
	case kindRaw:
		b, err := v.AppendJSON(nil)
		if err != nil {
			r.expected(s, path, v, f.want())
			return
		}
		r.keep(s, path, v, f, json.RawMessage(b))
	}
}

// keep sets the field and notes where its value came from.
func (r *reader) keep(s source, path string, v *json5.Value, f *Field, value any) {
	f.set(value)
	o := s.origin(v.Offset)
	if i, again := r.set[path]; again {
		r.report.Values[i].Value, r.report.Values[i].Origin = value, o
		return
	}
	r.set[path] = len(r.report.Values)
	r.report.Values = append(r.report.Values, Value{Field: path, Value: value, Origin: o})
}

// integer clamps what is out of range.
func (r *reader) integer(s source, path string, v *json5.Value, f *Field) {
	if v.Kind != json5.Number || v.Number != math.Trunc(v.Number) || math.IsInf(v.Number, 0) {
		r.expected(s, path, v, f.want())
		return
	}
	n := v.Number
	clamped := min(max(n, float64(f.min)), float64(f.max))
	if clamped != n {
		end := "above the most it can be"
		if n < clamped {
			end = "below the least it can be"
		}
		r.report.Warnings = append(r.report.Warnings,
			r.problem(s, v.Offset, path, v, "is %s, %s; %d is used (range %d to %d)", shown(v), end, int64(clamped), f.min, f.max))
	}
	r.keep(s, path, v, f, int64(clamped))
}

// text reads one text with its choices and check.
func (r *reader) text(s source, path string, v *json5.Value, f *Field, want string) (string, bool) {
	if v.Kind != json5.String {
		r.expected(s, path, v, want)
		return "", false
	}
	word := v.Text
	if alias, ok := f.aliases[word]; ok {
		word = alias
	}
	if len(f.choices) > 0 && !slices.Contains(f.choices, word) {
		hint := ""
		if like := text.Nearest(word, f.choices, 1); len(like) > 0 {
			hint = fmt.Sprintf("; did you mean %q?", like[0])
		}
		r.expected(s, path, v, "one of "+quotedList(f.choices)+hint)
		return "", false
	}
	if f.check != nil {
		if err := f.check(word); err != nil {
			r.expected(s, path, v, err.Error())
			return "", false
		}
	}
	return word, true
}

func (r *reader) texts(s source, path string, v *json5.Value, f *Field) {
	if v.Kind != json5.Array || len(v.Items) == 0 && f.nonEmpty {
		r.expected(s, path, v, f.want())
		return
	}
	list := make([]string, 0, len(v.Items))
	ok := true
	for i, item := range v.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		text, fine := r.text(s, at, item, f, "a text")
		if fine && len(f.choices) > 0 && slices.Contains(list, text) {
			r.fail(s, item.Offset, at, item, "is %s, which the list has already", shown(item))
			fine = false
		}
		ok = ok && fine
		list = append(list, text)
	}
	if ok {
		r.keep(s, path, v, f, list)
	}
}

// group reads an object, or true or false in its place.
func (r *reader) group(s source, path string, v *json5.Value, f *Field) {
	r.report.objects[path] = s.origin(v.Offset)
	if v.Kind == json5.Bool && f.switchOf != "" {
		v = &json5.Value{Kind: json5.Object, Offset: v.Offset, Members: []json5.Member{{Name: f.switchOf, Offset: v.Offset, Value: v}}}
	}
	if v.Kind != json5.Object {
		r.expected(s, path, v, f.want())
		return
	}
	r.object(s, path, v, f.fields)
}

// entries reads a map, once everything outside of maps is known.
func (r *reader) entries(s source, path string, v *json5.Value, f *Field) {
	if v.Kind != json5.Object {
		r.expected(s, path, v, f.want())
		return
	}
	r.late = append(r.late, func() {
		f.started()
		have := make(map[string]json5.Member, len(v.Members))
		for _, m := range v.Members {
			r.once(s, path, m, have)
			if f.checkKey != nil {
				if err := f.checkKey(m.Name); err != nil {
					r.fail(s, m.Offset, path, nil, "has the entry %q, expected %s", cut(m.Name), err)
					continue
				}
			}
			entry := f.entry(m.Name)
			r.field(s, join(path, m.Name), m.Value, &entry)
		}
	})
}

func (f *Field) started() {
	if f.onFirst != nil {
		f.onFirst()
	}
}

func (r *reader) items(s source, path string, v *json5.Value, f *Field) {
	if v.Kind != json5.Array {
		r.expected(s, path, v, f.want())
		return
	}
	r.late = append(r.late, func() {
		f.started()
		for i, item := range v.Items {
			field := f.item(i)
			r.field(s, fmt.Sprintf("%s[%d]", path, i), item, &field)
		}
	})
}
