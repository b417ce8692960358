package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
)

// subjectPath leads to a part of an input.
type subjectPath []string

// CheckSubjectPath says what is wrong with the path of a rule's subject.
func CheckSubjectPath(path string) error {
	_, err := parseSubjectPath(path)
	return err
}

// parseSubjectPath reads "$.a.b"; nothing is no path.
func parseSubjectPath(path string) (subjectPath, error) {
	if path == "" {
		return nil, nil
	}
	rest, ok := strings.CutPrefix(path, "$.")
	names := subjectPath(strings.Split(rest, "."))
	for _, name := range names {
		ok = ok && name != "" && !strings.ContainsAny(name, "[]*?\"' ")
	}
	if !ok {
		return nil, fmt.Errorf("the subject is %q, expected $ and names of properties, as in $.path or $.file.name", text.Cut(path, 64))
	}
	return names, nil
}

// of returns the part of an input with the path before it, "" without such a part.
func (p subjectPath) of(input json.RawMessage) string {
	for _, name := range p {
		if input = member(input, name); input == nil {
			return ""
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, input) != nil {
		return ""
	}
	return "$." + strings.Join(p, ".") + " = " + b.String()
}

// member returns a property of an object. It returns nil without one, and if a
// tool may take another property for it: Go's decoder takes names in any case,
// and decoders differ on which of two equal names counts.
func member(object json.RawMessage, name string) (found json.RawMessage) {
	d := json.NewDecoder(bytes.NewReader(object))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err != nil || d.Decode(&value) != nil {
			return nil
		}
		text, _ := key.(string)
		if !strings.EqualFold(text, name) {
			continue
		}
		if text != name || found != nil {
			return nil
		}
		found = value
	}
	return found
}
