package namespaces

import (
	"encoding/json"
	"errors"
	"iter"
)

// Node is one place in a scope, for those who describe what is there. Exactly one
// of Object, Array, Value and Call has it, except for the zero Node. It shares memory
// with its scope and can change nothing in it.
type Node struct{ n *node }

// Root returns the place at the top of a scope, an object.
func (s *Scope) Root() Node { return Node{s.tree()} }

// Calls returns the calls of a scope with their paths: the calls of the tree in order,
// then the methods of classes.
func (s *Scope) Calls() iter.Seq2[[]string, Call] {
	return func(yield func([]string, Call) bool) {
		_ = s.eachCall(func(at *trail, c *Call) error {
			if !yield(at.path(), *c) {
				return errStopped
			}
			return nil
		})
	}
}

var errStopped = errors.New("the loop over the calls has ended")

func (p Node) is(kind nodeKind) bool { return p.n != nil && p.n.kind == kind }

// Object returns the number of entries of an object and the entries themselves, in
// the order of their keys.
func (p Node) Object() (entries iter.Seq2[string, Node], n int, ok bool) {
	if !p.is(objectNode) {
		return nil, 0, false
	}
	return func(yield func(string, Node) bool) {
		for i, c := range p.n.children {
			if !yield(p.n.keys[i], Node{c}) {
				return
			}
		}
	}, len(p.n.children), true
}

// Array returns the number of items of an array and the items themselves.
func (p Node) Array() (items iter.Seq2[int, Node], n int, ok bool) {
	if !p.is(arrayNode) {
		return nil, 0, false
	}
	return func(yield func(int, Node) bool) {
		for i, c := range p.n.children {
			if !yield(i, Node{c}) {
				return
			}
		}
	}, len(p.n.children), true
}

// Value returns a string, number, boolean or null as JSON. Do not modify it.
func (p Node) Value() (value json.RawMessage, ok bool) {
	if !p.is(valueNode) {
		return nil, false
	}
	return p.n.value, true
}

// Call returns what a callable stands for. Do not modify it.
func (p Node) Call() (call Call, ok bool) {
	if !p.is(callNode) {
		return Call{}, false
	}
	return *p.n.call, true
}

// Child returns what stands under a key of an object or an index of an array.
func (p Node) Child(segment string) (Node, bool) {
	if p.n == nil {
		return Node{}, false
	}
	c := p.n.child(segment)
	return Node{c}, c != nil
}

// Keys returns the keys of an object, in order, or nil. Do not modify them.
func (p Node) Keys() []string {
	if !p.is(objectNode) {
		return nil
	}
	return p.n.keys
}
