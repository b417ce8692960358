package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Markdown returns the reference of all fields: one table for each object that
// has any. A field that an object above has described is named alone.
func (t Table) Markdown() string {
	r := reference{env: map[string]string{}, at: map[string]string{}}
	for _, l := range t.leaves() {
		r.env[l.path] = l.env
	}
	r.object("", t.Fields)
	return strings.TrimSpace(r.String()) + "\n"
}

// reference is the page that Markdown writes.
type reference struct {
	strings.Builder
	env map[string]string // by the path of a field
	at  map[string]string // which object has described a field, by its name and text
}

func (r *reference) object(path string, fields []Field) {
	r.table(path, fields)
	for i := range fields {
		f := &fields[i]
		parts := f.parts()
		if len(parts) == 0 {
			continue
		}
		at := join(path, f.name) + f.suffix()
		fmt.Fprintf(r, "## `%s`\n\n%s", at, f.doc)
		if f.switchOf != "" {
			fmt.Fprintf(r, " `true` alone stands for `{ %s: true }`.", f.switchOf)
		}
		r.WriteString("\n\n")
		r.object(at, parts)
	}
}

// table writes the fields of an object that have no table of their own. It leaves out a
// column of environment variables that would be empty.
func (r *reference) table(path string, fields []Field) {
	var own []*Field
	described, anyEnv := map[string][]string{}, false
	for i := range fields {
		f := &fields[i]
		if len(f.parts()) > 0 {
			continue
		}
		env, key := r.env[join(path, f.name)], f.name+" "+f.doc
		if at, known := r.at[key]; known && env == "" && f.defaultText() == "" {
			described[at] = append(described[at], code(f.name))
			continue
		}
		r.at[key] = path
		own, anyEnv = append(own, f), anyEnv || env != ""
	}
	for _, at := range slices.Sorted(maps.Keys(described)) {
		fmt.Fprintf(r, "As in `%s`: %s.\n\n", at, strings.Join(described[at], ", "))
	}
	if len(own) == 0 {
		return
	}
	title, rule := "", ""
	if anyEnv {
		title, rule = " environment |", "---|"
	}
	fmt.Fprintf(r, "| field | default | takes |%s what it does |\n|---|---|---|%s---|\n", title, rule)
	for _, f := range own {
		fmt.Fprintf(r, "| `%s` | %s | %s |", f.name, f.defaultText(), cell(f.takes()))
		if anyEnv {
			fmt.Fprintf(r, " %s |", code(r.env[join(path, f.name)]))
		}
		fmt.Fprintf(r, " %s |\n", cell(f.doc))
	}
	r.WriteByte('\n')
}

// takes is what may be given, in the few words of a cell.
func (f *Field) takes() string {
	short := strings.NewReplacer("an integer from ", "", "a list of one or more of ", "some of ", "a list of texts", "texts", "a text", "text", "one of ", "", "an object with one entry per ", "one entry per ")
	return short.Replace(f.want())
}

// parts are the fields that get a table of their own.
func (f *Field) parts() []Field {
	switch f.kind {
	case kindObject:
		return f.fields
	case kindMap:
		entry := f.entry("*")
		return entry.fields
	case kindList:
		item := f.item(0)
		return item.fields
	}
	return nil
}

// suffix is how the place of an entry is written.
func (f *Field) suffix() string {
	switch f.kind {
	case kindMap:
		return ".<" + f.keyName + ">"
	case kindList:
		return "[]"
	}
	return ""
}

func (f *Field) defaultText() string {
	if f.get == nil || f.inherited || f.absent() {
		return ""
	}
	b, err := json.Marshal(f.get())
	if err != nil || string(b) == "null" {
		return ""
	}
	return code(string(b))
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// cell escapes what would end a cell of a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
