package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// subjectPath leads to a part of an input.
type subjectPath []string

// CheckSubjectPath says what is wrong with the path of a rule's subject.
func CheckSubjectPath(path string) error {
	_, err := parseSubjectPath(path)
	return err
}

// parseSubjectPath reads "$.a.b"; nothing is no path.
func parseSubjectPath(text string) (subjectPath, error) {
	if text == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(text, "$.")
	path := subjectPath(strings.Split(rest, "."))
	for _, name := range path {
		ok = ok && name != "" && !strings.ContainsAny(name, "[]*?\"' ")
	}
	if !ok {
		return nil, fmt.Errorf("the subject is %q, expected $ and names of properties, as in $.path or $.file.name", cut(text, 64))
	}
	return path, nil
}

// of returns the part of an input with the path before it; empty if there is none.
func (p subjectPath) of(input json.RawMessage) string {
	for _, name := range p {
		var object map[string]json.RawMessage
		if json.Unmarshal(input, &object) != nil || object[name] == nil {
			return ""
		}
		input = object[name]
	}
	var b bytes.Buffer
	if json.Compact(&b, input) != nil {
		return ""
	}
	return "$." + strings.Join(p, ".") + " = " + b.String()
}
