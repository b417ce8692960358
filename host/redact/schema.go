package redact

import (
	"encoding/json"
	"regexp"
	"strings"
)

// maxSchemas bounds the schemas that apply to one value, and the steps taken to
// find them. Beyond it the value is taken for a secret.
const maxSchemas = 64

// schemas are those that apply to one value: its own, and what that refers to or
// combines.
type schemas struct {
	root    map[string]any // where references start
	list    []map[string]any
	tangled bool // too many to follow
}

func rootOf(schema json.RawMessage) schemas {
	if len(schema) == 0 {
		return schemas{}
	}
	v, err := decode(schema)
	root, ok := v.(map[string]any)
	if err != nil || !ok {
		return schemas{}
	}
	return schemas{root: root}.of(root)
}

// of returns the schemas that apply to a value with the given ones.
func (s schemas) of(first ...any) schemas {
	out := schemas{root: s.root}
	steps := 0
	for len(first) > 0 {
		next, ok := first[0].(map[string]any)
		first = first[1:]
		if !ok {
			continue // true, false, or no schema
		}
		if steps++; steps > maxSchemas {
			out.tangled = true
			return out
		}
		out.list = append(out.list, next)
		if ref, ok := next["$ref"].(string); ok {
			first = append(first, s.resolve(ref))
		}
		for _, k := range []string{"allOf", "anyOf", "oneOf"} {
			if more, ok := next[k].([]any); ok {
				first = append(first, more...)
			}
		}
		for _, k := range []string{"if", "then", "else"} {
			first = append(first, next[k])
		}
	}
	return out
}

// resolve follows a reference inside the document. Any other leads nowhere.
func (s schemas) resolve(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var at any = s.root
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[step]
	}
	return at
}

// secret reports whether any of the schemas says so.
func (s schemas) secret() bool {
	for _, m := range s.list {
		if m["format"] == "password" || m["writeOnly"] == true {
			return true
		}
	}
	return s.tangled
}

// property returns the schemas of a property.
func (s schemas) property(name string) schemas {
	var found []any
	for _, m := range s.list {
		known := false
		if p, ok := m["properties"].(map[string]any); ok {
			if sub, ok := p[name]; ok {
				found, known = append(found, sub), true
			}
		}
		if p, ok := m["patternProperties"].(map[string]any); ok {
			for pattern, sub := range p {
				// A pattern that Go cannot read may be meant for this name.
				if re, err := regexp.Compile(pattern); err != nil || re.MatchString(name) {
					found, known = append(found, sub), true
				}
			}
		}
		if !known {
			found = append(found, m["additionalProperties"], m["unevaluatedProperties"])
		}
	}
	return s.of(found...)
}

// item returns the schemas of an element of an array.
func (s schemas) item(i int) schemas {
	var found []any
	for _, m := range s.list {
		prefix, ok := m["prefixItems"].([]any)
		if !ok {
			prefix, ok = m["items"].([]any) // as it was before 2020-12
		}
		if ok && i < len(prefix) {
			found = append(found, prefix[i])
			continue
		}
		found = append(found, m["items"], m["additionalItems"], m["unevaluatedItems"], m["contains"])
	}
	return s.of(found...)
}
