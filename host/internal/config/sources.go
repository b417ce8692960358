package config

import (
	"slices"
	"strings"
	"unicode"

	"github.com/quoinhq/quoin/host/internal/json5"
	"github.com/quoinhq/quoin/internal/text"
)

// leaf is a field that text can set.
type leaf struct {
	path, env string
	field     *Field
}

// leaves returns the fields that text can set, in the order of the table.
func (t Table) leaves() []leaf {
	var out []leaf
	var walk func(path, env string, fields []Field)
	walk = func(path, env string, fields []Field) {
		for i := range fields {
			f := &fields[i]
			at, name := join(path, f.name), env+"_"+screaming(f.name)
			if f.env != "" {
				name = "_" + f.env
			}
			switch {
			case f.kind == kindObject:
				walk(at, name, f.fields)
			case f.scalar() && !strings.HasPrefix(f.name, "$"):
				out = append(out, leaf{at, t.EnvPrefix + strings.TrimPrefix(name, "_"), f})
			}
		}
	}
	walk("", "", t.Fields)
	return out
}

// screaming turns timeoutMs into TIMEOUT_MS.
func screaming(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// environ reads the variables that name a field. An empty one counts as absent.
func (r *reader) environ(environ []string, t Table) {
	leaves := t.leaves()
	var names []string
	for _, l := range leaves {
		names = append(names, l.env)
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		i := slices.Index(names, name)
		s := source{kind: "env", name: name}
		switch {
		case value == "":
		case i >= 0:
			r.field(s, leaves[i].path, given(leaves[i].field, value), leaves[i].field)
		case t.ours(name):
			r.report.Warnings = append(r.report.Warnings, r.problem(s, 0, "", nil, "this variable sets no field%s", didYouMean(name, names)))
		}
	}
}

// didYouMean ends a message with the known name that is nearest to the given one,
// and is empty if no name is near.
func didYouMean(given string, known []string) string {
	if like := text.Nearest(given, known, 1); len(like) > 0 {
		return "; did you mean " + like[0] + "?"
	}
	return ""
}

// ours reports whether a variable of that name can only be meant for the table.
func (t Table) ours(name string) bool {
	return slices.ContainsFunc(t.Strict, func(p string) bool { return strings.HasPrefix(name, t.EnvPrefix+p) })
}

// assignments reads PATH=VALUE pairs of the command line.
func (r *reader) assignments(set []string, t Table) {
	leaves := t.leaves()
	s := source{kind: "flag", name: "--set"}
	var paths []string
	for _, l := range leaves {
		paths = append(paths, l.path)
	}
	for _, kv := range set {
		path, value, found := strings.Cut(kv, "=")
		path = strings.TrimSpace(path)
		if !found {
			r.fail(s, 0, "", nil, "%q has no =, expected FIELD=VALUE such as tools.codeMode.timeoutMs=5000", cut(kv))
			continue
		}
		i := slices.Index(paths, path)
		if i < 0 {
			r.fail(s, 0, cut(path), nil, "is no field that can be set here%s", didYouMean(path, paths))
			continue
		}
		r.field(s, paths[i], given(leaves[i].field, value), leaves[i].field)
	}
}

// given makes a value of text outside of a file. A field that takes text takes it
// as it is, a list its parts between commas; text that is not what another field
// takes stays text, which that field refuses.
func given(f *Field, text string) *json5.Value {
	asText := &json5.Value{Kind: json5.String, Text: text}
	switch {
	case f.kind == kindText:
		return asText
	case f.kind == kindTexts && !strings.HasPrefix(strings.TrimSpace(text), "["):
		list := &json5.Value{Kind: json5.Array}
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list.Items = append(list.Items, &json5.Value{Kind: json5.String, Text: part})
			}
		}
		return list
	}
	v, err := json5.Parse([]byte(text))
	if err != nil {
		return asText
	}
	return v
}
