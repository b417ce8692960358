package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Markdown returns the reference of all fields: one table for each object that
// has any.
func (t Table) Markdown() string {
	var b strings.Builder
	env := map[string]string{}
	for _, l := range t.leaves() {
		env[l.path] = l.env
	}
	markdown(&b, "", t.Fields, env)
	return strings.TrimSpace(b.String()) + "\n"
}

func markdown(b *strings.Builder, path string, fields []Field, env map[string]string) {
	const head = "| field | default | takes | environment | what it does |\n|---|---|---|---|---|\n"
	started := false
	for i := range fields {
		f := &fields[i]
		if len(f.parts()) > 0 {
			continue
		}
		if !started {
			b.WriteString(head)
			started = true
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", f.name, f.defaultText(), cell(f.want()), code(env[join(path, f.name)]), cell(f.doc))
	}
	if started {
		b.WriteByte('\n')
	}
	for i := range fields {
		f := &fields[i]
		parts := f.parts()
		if len(parts) == 0 {
			continue
		}
		at := join(path, f.name) + f.suffix()
		fmt.Fprintf(b, "## `%s`\n\n%s", at, f.doc)
		if f.switchOf != "" {
			fmt.Fprintf(b, " `true` alone stands for `{ %s: true }`.", f.switchOf)
		}
		b.WriteString("\n\n")
		markdown(b, at, parts, env)
	}
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
