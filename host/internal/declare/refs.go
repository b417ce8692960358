package declare

import (
	"net/url"
	"strconv"
	"strings"
)

// target returns the schema that a reference means, nil if it is not in the same
// document.
func (d *document) target(ref string) *node {
	if id := strings.TrimSuffix(d.root.get("$id").str(), "#"); id != "" {
		ref = strings.TrimPrefix(ref, id)
	}
	pointer, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	if pointer != "" && pointer[0] != '/' {
		return d.anchor(pointer)
	}
	if text, err := url.PathUnescape(pointer); err == nil {
		pointer = text
	}
	n := d.root
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = unescape(token)
		if list := n.list(); list != nil {
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(list) {
				return nil
			}
			n = list[i]
			continue
		}
		if n = n.get(token); n == nil {
			return nil
		}
	}
	return n
}

// unescape reads one token of a JSON pointer.
func unescape(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// anchor returns the definition that has a name of its own.
func (d *document) anchor(name string) *node {
	for _, keyword := range []string{"$defs", "definitions"} {
		for _, m := range d.root.get(keyword).memberList() {
			if m.value.get("$anchor").str() == name {
				return m.value
			}
		}
	}
	return nil
}

// refer writes a reference. One that an alias would have to be resolved for
// before it is known itself says nothing.
func (d *document) refer(target *node, ref string, a at) expr {
	switch {
	case target == nil:
		return d.word(unknown)
	case !target.is(objectNode): // true or false
		return d.typeOf(target, a.deeper())
	case a.alias != nil && d.leads(target, a.alias, a.crossed):
		return d.word(unknown)
	}
	wish := d.name
	if target != d.root {
		wish = ref[strings.LastIndexAny(ref, "/#")+1:]
		if text, err := url.PathUnescape(wish); err == nil {
			wish = text
		}
		wish = unescape(wish)
	}
	return d.word(d.nameOf(target, wish))
}

// Bounds of walks along references: of one walk, and of those in a schema that
// come back to the same places.
const (
	maxSteps = 1_000
	maxWalks = 100_000
)

// tired counts a step and reports whether there have been too many. A few
// references to all of a schema would otherwise be followed for ever.
func (d *document) tired() bool {
	d.walked++
	return d.walked > maxWalks
}

// leads reports whether one alias may need another to be resolved first: whether
// a way of references, combinations and arrays that may have to be intersected,
// past no object, goes from one to the other. Beyond the bound it says yes, which
// is always safe.
func (d *document) leads(from, to *node, crossed bool) bool {
	type visit struct {
		n       *node
		crossed bool
	}
	seen := map[visit]bool{}
	todo := []visit{{from, crossed}}
	for steps := 0; len(todo) > 0; steps++ {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if v.n == nil || seen[v] {
			continue
		}
		if v.n == to || steps > maxSteps {
			return true
		}
		seen[v] = true
		v.crossed = v.crossed || crosses(v.n)
		if ref := v.n.get("$ref"); ref.is(stringNode) {
			todo = append(todo, visit{d.target(ref.text), v.crossed})
		}
		keywords := []string{"anyOf", "oneOf", "allOf"}
		if v.crossed || !flat(v.n.get("items"), 0) {
			keywords = append(keywords, "items", "prefixItems")
			todo = append(todo, visit{v.n.get("items"), true}, visit{v.n.get("additionalItems"), true})
		}
		for _, keyword := range keywords {
			for _, branch := range v.n.get(keyword).list() {
				todo = append(todo, visit{branch, v.crossed})
			}
		}
	}
	return false
}

// refersToRoot reports whether something in a schema refers to all of it.
func (d *document) refersToRoot(n *node) bool {
	if ref := n.get("$ref"); ref.is(stringNode) && d.target(ref.text) == d.root {
		return true
	}
	for _, m := range n.members {
		if d.refersToRoot(m.value) {
			return true
		}
	}
	for _, item := range n.items {
		if d.refersToRoot(item) {
			return true
		}
	}
	return false
}

// width counts the alternatives of a schema's type, at most some more than
// maxWidth. An intersection has the product of the widths of its parts, which the
// compiler works out.
func (d *document) width(s *node, depth int) int {
	const deepest = 20
	if !s.is(objectNode) {
		return 1
	}
	if depth > deepest || d.tired() {
		return maxWidth + 1
	}
	product := 1
	multiply := func(by int) { product = min(product*max(by, 1), maxWidth+1) }
	if ref := s.get("$ref"); ref.is(stringNode) {
		multiply(d.width(d.target(ref.text), depth+1))
	}
	multiply(d.widthOf(s.get("anyOf").list(), depth))
	multiply(d.widthOf(s.get("oneOf").list(), depth))
	for _, part := range s.get("allOf").list() {
		multiply(d.width(part, depth+1))
	}
	multiply(len(s.get("enum").list()))
	multiply(len(s.get("type").words()))
	return product
}

// widthOf is the width of a union.
func (d *document) widthOf(branches []*node, depth int) int {
	sum := 0
	for _, b := range branches {
		if sum = sum + d.width(b, depth+1); sum > maxWidth {
			return maxWidth + 1
		}
	}
	return sum
}
