package namespaces

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Call marks a place in a scope as callable: a call there becomes a call of
// the named tool, which must be one of the namespace's required tools.
type Call struct {
	Tool    string
	Mapping Mapping
	// Template says that the call is a tag of template literals. Its first argument is
	// {strings, raw}, raw only if it differs, and the values of the template follow.
	Template bool
	// Returns gives the results methods. A result that is a list has them on its
	// items.
	Returns *Class
	// ReturnsIn names a field of the results if what is there gets the methods, in
	// place of the result itself.
	ReturnsIn string
}

// Scope is the serialised content of a namespace: a tree of objects, arrays,
// plain values and calls, with an object as its root. It is immutable and safe
// for concurrent use, except that UnmarshalJSON replaces it. The zero value is
// an empty scope.
type Scope struct {
	root    *node
	classes []*Class // sorted by name
}

var (
	_ json.Marshaler   = (*Scope)(nil)
	_ json.Unmarshaler = (*Scope)(nil)
)

// nodeKind tells the four kinds of node apart.
type nodeKind uint8

const (
	objectNode nodeKind = iota
	arrayNode
	valueNode
	callNode
)

// node is one place in a scope. It is not changed once its scope is built.
type node struct {
	kind     nodeKind
	keys     []string // object: sorted
	children []*node  // object: in the order of keys; array: its items
	value    []byte   // value: a JSON scalar
	call     *Call    // call
}

var emptyObject = &node{kind: objectNode}

// tree returns the root.
func (s *Scope) tree() *node {
	if s == nil || s.root == nil {
		return emptyObject
	}
	return s.root
}

// child returns what stands under a path segment, or nil.
func (n *node) child(segment string) *node {
	switch n.kind {
	case objectNode:
		if i, ok := slices.BinarySearch(n.keys, segment); ok {
			return n.children[i]
		}
	case arrayNode:
		if i, ok := arrayIndex(segment); ok && i < len(n.children) {
			return n.children[i]
		}
	}
	return nil
}

// eachCall visits the calls in order until visit fails.
func (n *node) eachCall(at *trail, visit func(*trail, *Call) error) error {
	if n.kind == callNode {
		return visit(at, n.call)
	}
	for i, c := range n.children {
		below := at.item(i)
		if n.kind == objectNode {
			below = at.child(n.keys[i])
		}
		if err := c.eachCall(below, visit); err != nil {
			return err
		}
	}
	return nil
}

// CheckTargets reports the first callable, in order of keys, with a tool that
// is not among required. It fails with UndeclaredTool.
func (s *Scope) CheckTargets(required []string) error {
	return s.eachCall(func(at *trail, c *Call) error {
		if slices.Contains(required, c.Tool) {
			return nil
		}
		return &Error{Code: UndeclaredTool, Path: at.String(), Message: at.String() + " targets the undeclared tool " +
			quoteName(c.Tool) + "; name it in requiredToolNames"}
	})
}

// eachCall visits the calls of the tree, then the methods of the classes, in order until visit fails.
func (s *Scope) eachCall(visit func(*trail, *Call) error) error {
	if err := s.tree().eachCall(nil, visit); err != nil {
		return err
	}
	for class := range s.Classes() {
		prototype := (*trail)(nil).child(class.Name).child(methodSegment)
		for _, name := range slices.Sorted(maps.Keys(class.Methods)) {
			method := class.Methods[name]
			if err := visit(prototype.child(name), &method); err != nil {
				return err
			}
		}
	}
	return nil
}

// pathSeparator may not occur in a key, so that a path joined by it can be
// taken apart again. It is a control character no sensible key holds.
const pathSeparator = "\x1f"

// checkKey refuses keys that could reach a prototype or blur a path.
func checkKey(key string, at *trail) error {
	var why string
	switch {
	case key == "":
		why = "is empty"
	case key == "__proto__" || key == "constructor" || key == "prototype":
		why = "could reach a prototype"
	case strings.Contains(key, pathSeparator):
		why = "holds the path separator U+001F"
	case !utf8.ValidString(key):
		why = "is not valid UTF-8"
	default:
		return nil
	}
	return &Error{Code: UnsafeKey, Path: at.String(), Message: "key " + quoteName(key) + " in " + at.where() +
		" is not allowed: it " + why + "; use another key"}
}

// checkCall refuses calls that could not be made, or would be made by accident.
func checkCall(c *Call, at *trail) error {
	if !isToolName(c.Tool) {
		return &Error{Code: InvalidToolName, Path: at.String(), Message: "the call at " + at.where() +
			" names no usable tool: " + quoteName(c.Tool)}
	}
	if at != nil && at.key == "then" {
		return &Error{Code: UnsafeKey, Path: at.String(), Message: at.String() +
			" cannot be callable: await would call it; use another key"}
	}
	if c.ReturnsIn != "" && (c.Returns == nil || checkKey(c.ReturnsIn, nil) != nil) {
		return &Error{Code: InvalidClass, Path: at.String(), Message: "the call at " + at.where() +
			" names the field " + quoteName(c.ReturnsIn) + " of its results, but no class, or no usable field"}
	}
	err := c.Mapping.Validate()
	if c.Template && err == nil && (c.Mapping.Kind == MapDefault || c.Mapping.Options) {
		err = badMapping("a tag of templates needs a positional mapping without options, or a function")
	}
	if err != nil {
		e := *err.(*Error)
		e.Path = at.String()
		e.Message = "the call at " + at.where() + ": " + e.Message
		return &e
	}
	return nil
}
