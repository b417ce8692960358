package jsonschema

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Kind is the JSON type of a Node.
type Kind uint8

// The kinds.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Node is one JSON value.
type Node struct {
	Kind Kind
	// Raw is the value as it was written; nil for nodes that you make.
	Raw json.RawMessage
	// Text is the value of a string and the literal of a number.
	Text string
	// Truth is the value of a boolean.
	Truth bool
	// Members are the members of an object, in order. When a name stands twice, the
	// first place and the last value count.
	Members []Member
	// Items are the items of an array.
	Items []*Node
}

// Member is one member of an object.
type Member struct {
	Key   string
	Value *Node
}

// Is reports whether n is there and of a kind.
func (n *Node) Is(kind Kind) bool { return n != nil && n.Kind == kind }

// IsTrue reports whether n is true.
func (n *Node) IsTrue() bool { return n.Is(Bool) && n.Truth }

// IsFalse reports whether n is false, which as a schema fits no value.
func (n *Node) IsFalse() bool { return n.Is(Bool) && !n.Truth }

// Get returns the member of an object with a name, nil if there is no such member.
func (n *Node) Get(key string) *Node {
	for _, m := range n.Fields() {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Fields returns the members of an object, nil of anything else.
func (n *Node) Fields() []Member {
	if n.Is(Object) {
		return n.Members
	}
	return nil
}

// List returns the items of an array, nil of anything else.
func (n *Node) List() []*Node {
	if n.Is(Array) {
		return n.Items
	}
	return nil
}

// Str returns the value of a string, "" of anything else.
func (n *Node) Str() string {
	if n.Is(String) {
		return n.Text
	}
	return ""
}

// Words returns a string, or the strings of an array, each once. It reads keywords
// such as type and required.
func (n *Node) Words() []string {
	if n.Is(String) {
		return []string{n.Text}
	}
	var out []string
	for _, item := range n.List() {
		if item.Is(String) && !slices.Contains(out, item.Text) {
			out = append(out, item.Text)
		}
	}
	return out
}

// Count returns the value of a whole number that is not negative, -1 of anything
// else.
func (n *Node) Count() int {
	if !n.Is(Number) {
		return -1
	}
	i, err := strconv.Atoi(n.Text)
	if err != nil || i < 0 {
		return -1
	}
	return i
}
