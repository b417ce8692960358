package jsonschema

import (
	"net/url"
	"strconv"
	"strings"
)

// Document is a schema that has been read. A nil Document has no root.
type Document struct{ root *Node }

// Root returns the node of the whole schema, nil for a nil Document.
func (d *Document) Root() *Node {
	if d == nil {
		return nil
	}
	return d.root
}

// Target returns the schema that a $ref names, nil if it is not in this document.
// It knows the pointers "#" and "#/…", the $anchor of a definition, and both after
// the $id of the root.
func (d *Document) Target(ref string) *Node {
	if id := strings.TrimSuffix(d.Root().Get("$id").Str(), "#"); id != "" {
		ref = strings.TrimPrefix(ref, id)
	}
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	if pointer != "" && pointer[0] != '/' {
		return d.anchor(pointer)
	}
	n := d.Root()
	for _, token := range strings.Split(unescapeURL(pointer), "/")[1:] {
		token = unescapePointer(token)
		if list := n.List(); list != nil {
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(list) {
				return nil
			}
			n = list[i]
			continue
		}
		if n = n.Get(token); n == nil {
			return nil
		}
	}
	return n
}

// Ref returns the schema that the $ref of n names. It returns nil if n has no $ref,
// or one that leads out of the document.
func (d *Document) Ref(n *Node) *Node {
	if ref := n.Get("$ref"); ref.Is(String) {
		return d.Target(ref.Text)
	}
	return nil
}

// RefName returns the last part of a reference, such as Issue of "#/$defs/Issue".
func RefName(ref string) string {
	return unescapePointer(unescapeURL(ref[strings.LastIndexAny(ref, "/#")+1:]))
}

// unescapeURL reads the percent-encoding of a fragment; text without a valid one
// stays.
func unescapeURL(fragment string) string {
	if text, err := url.PathUnescape(fragment); err == nil {
		return text
	}
	return fragment
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// unescapePointer reads one token of a JSON pointer.
func unescapePointer(token string) string { return pointerEscapes.Replace(token) }

// anchor returns the definition or property, at any depth, that has a name of its own.
func (d *Document) anchor(name string) *Node {
	return anchorIn(d.Root(), name)
}

func anchorIn(n *Node, name string) *Node {
	for _, keyword := range []string{"$defs", "definitions", "properties"} {
		for _, m := range n.Get(keyword).Fields() {
			if m.Value.Get("$anchor").Str() == name {
				return m.Value
			}
			if found := anchorIn(m.Value, name); found != nil {
				return found
			}
		}
	}
	return nil
}
