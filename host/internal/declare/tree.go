package declare

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// Bounds of what is read of one schema. What is larger is unknown.
const (
	maxSchemaBytes = 512 << 10
	maxNodes       = 20_000
	maxNesting     = 100
)

// node is one value of a JSON document, members in their order.
type node struct {
	kind    nodeKind
	text    string // of a string its value, of a number its literal
	truth   bool
	members []member
	items   []*node
}

type member struct {
	key   string
	value *node
}

type nodeKind uint8

const (
	nullNode nodeKind = iota
	boolNode
	numberNode
	stringNode
	arrayNode
	objectNode
)

// get returns a member of an object, nil without one. It may be called on nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for i := range n.members {
		if n.members[i].key == key {
			return n.members[i].value
		}
	}
	return nil
}

// is reports whether n is there and of a kind.
func (n *node) is(kind nodeKind) bool { return n != nil && n.kind == kind }

// str returns the text of a string, "" of anything else.
func (n *node) str() string {
	if n.is(stringNode) {
		return n.text
	}
	return ""
}

// list returns the items of an array, nil of anything else.
func (n *node) list() []*node {
	if n.is(arrayNode) {
		return n.items
	}
	return nil
}

// reader makes nodes of tokens.
type reader struct {
	d     *json.Decoder
	nodes int
}

// parse reads a document; ok is false if it is not JSON or beyond the bounds.
func parse(doc json.RawMessage) (n *node, ok bool) {
	if len(doc) > maxSchemaBytes || !json.Valid(doc) {
		return nil, false
	}
	r := reader{d: json.NewDecoder(bytes.NewReader(doc))}
	r.d.UseNumber()
	n = r.value(0)
	return n, n != nil
}

// value reads the next value, nil beyond the bounds.
func (r *reader) value(depth int) *node {
	token, err := r.d.Token()
	if r.nodes++; err != nil || r.nodes > maxNodes || depth > maxNesting {
		return nil
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return r.object(depth)
		}
		return r.array(depth)
	case string:
		return &node{kind: stringNode, text: t}
	case json.Number:
		return &node{kind: numberNode, text: t.String()}
	case bool:
		return &node{kind: boolNode, truth: t}
	}
	return &node{}
}

// object reads the members of an object. Of two with one name, the last counts.
func (r *reader) object(depth int) *node {
	n := &node{kind: objectNode}
	places := map[string]int{}
	for r.d.More() {
		key, err := r.d.Token()
		if err != nil {
			return nil
		}
		value := r.value(depth + 1)
		if value == nil {
			return nil
		}
		name := key.(string)
		if at, twice := places[name]; twice {
			n.members[at].value = value
			continue
		}
		places[name] = len(n.members)
		n.members = append(n.members, member{name, value})
	}
	if _, err := r.d.Token(); err != nil {
		return nil
	}
	return n
}

func (r *reader) array(depth int) *node {
	n := &node{kind: arrayNode}
	for r.d.More() {
		item := r.value(depth + 1)
		if item == nil {
			return nil
		}
		n.items = append(n.items, item)
	}
	if _, err := r.d.Token(); err != nil {
		return nil
	}
	return n
}

// words returns a string, or the strings of a list.
func (n *node) words() []string {
	if n.is(stringNode) {
		return []string{n.text}
	}
	var out []string
	for _, item := range n.list() {
		if item.is(stringNode) && !slices.Contains(out, item.text) {
			out = append(out, item.text)
		}
	}
	return out
}

// count returns a small whole number, -1 of anything else.
func (n *node) count() int {
	if !n.is(numberNode) {
		return -1
	}
	i, err := strconv.Atoi(n.text)
	if err != nil || i < 0 {
		return -1
	}
	return i
}
