package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// The bounds of a document.
const (
	maxText   = 32 << 20
	maxValues = 3_000_000
	maxDepth  = 100
)

var (
	errTooLarge = fmt.Errorf("it has more than %d MiB", maxText>>20)
	errTooMany  = fmt.Errorf("it has more than %d values", maxValues)
	errTooDeep  = fmt.Errorf("it is nested more than %d levels deep", maxDepth)
)

// normalise returns a document as JSON within the bounds. Aliases of YAML are replaced by
// what they stand for, which counts each time.
func normalise(text []byte) (json.RawMessage, error) {
	if len(text) > maxText {
		return nil, errTooLarge
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		if err := measure(text); err != nil {
			return nil, err
		}
		if json.Valid(text) {
			return text, nil
		}
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("it is neither JSON nor YAML: %w", err)
	}
	w := &yamlWriter{}
	if err := w.value(&root, 0); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

// measure refuses a JSON text that would cost too much to decode. It does not decode it.
func measure(text []byte) error {
	depth, values, inString, escaped := 0, 0, false, false
	for _, b := range text {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped, inString = b == '\\', b != '"'
		case b == '"':
			inString = true
		case b == '{' || b == '[':
			depth++
			values++
			if depth > maxDepth {
				return errTooDeep
			}
		case b == '}' || b == ']':
			depth--
		case b == ',' || b == ':':
			values++
		}
	}
	if values > maxValues {
		return errTooMany
	}
	return nil
}

// yamlWriter writes YAML as JSON.
type yamlWriter struct {
	out    bytes.Buffer
	values int
}

// value writes one node.
func (w *yamlWriter) value(n *yaml.Node, depth int) error {
	switch w.values++; {
	case w.values > maxValues:
		return errTooMany
	case depth > maxDepth:
		return errTooDeep
	case w.out.Len() > maxText:
		return errTooLarge
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) != 1 {
			return errors.New("it is empty")
		}
		return w.value(n.Content[0], depth)
	case yaml.AliasNode:
		return w.value(n.Alias, depth+1)
	case yaml.MappingNode:
		return w.mapping(n, depth)
	case yaml.SequenceNode:
		w.out.WriteByte('[')
		for i, item := range n.Content {
			if i > 0 {
				w.out.WriteByte(',')
			}
			if err := w.value(item, depth+1); err != nil {
				return err
			}
		}
		w.out.WriteByte(']')
	case yaml.ScalarNode:
		w.out.Write(scalar(n))
	default:
		return errors.New("it is empty")
	}
	return nil
}

// mapping writes a mapping with the mappings that it merges. Their members count where it
// has no such member itself.
func (w *yamlWriter) mapping(n *yaml.Node, depth int) error {
	w.out.WriteByte('{')
	seen := map[string]bool{}
	if err := w.members(n, depth, seen); err != nil {
		return err
	}
	w.out.WriteByte('}')
	return nil
}

// members writes the members of a mapping that are not seen yet.
func (w *yamlWriter) members(n *yaml.Node, depth int, seen map[string]bool) error {
	var merged []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		switch {
		case key.Kind != yaml.ScalarNode:
			return fmt.Errorf("line %d: the name of a member is not a text", key.Line)
		case key.ShortTag() == "!!merge":
			merged = append(merged, n.Content[i+1])
			continue
		case seen[key.Value]:
			continue
		}
		if len(seen) > 0 {
			w.out.WriteByte(',')
		}
		seen[key.Value] = true
		w.out.Write(quote(key.Value))
		w.out.WriteByte(':')
		if err := w.value(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	for _, m := range merged {
		if err := w.merge(m, depth+1, seen); err != nil {
			return err
		}
	}
	return nil
}

// merge writes what a merge key stands for: a mapping, or a list of them.
func (w *yamlWriter) merge(n *yaml.Node, depth int, seen map[string]bool) error {
	if w.values++; w.values > maxValues {
		return errTooMany
	}
	if depth > maxDepth {
		return errTooDeep
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.merge(n.Alias, depth+1, seen)
	case yaml.MappingNode:
		return w.members(n, depth, seen)
	case yaml.SequenceNode:
		for _, m := range n.Content {
			if err := w.merge(m, depth+1, seen); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("line %d: << does not merge a mapping", n.Line)
}

// scalar returns a scalar as JSON. What JSON does not know, such as dates, is a text.
func scalar(n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return []byte("null")
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return strconv.AppendBool(nil, b)
		}
	case "!!int", "!!float":
		if number := []byte(n.Value); json.Valid(number) {
			return number
		}
		var f float64
		if n.Decode(&f) == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return strconv.AppendFloat(nil, f, 'g', -1, 64)
		}
	}
	return quote(n.Value)
}

// quote returns a text as JSON.
func quote(s string) []byte {
	out, err := jsontext.Marshal(s)
	if err != nil {
		return []byte(`""`) // cannot happen: a string has JSON
	}
	return out
}
