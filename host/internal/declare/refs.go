package declare

import "github.com/quoinhq/quoin/internal/jsonschema"

// refer writes a reference. One that an alias would have to be resolved for
// before it is known itself says nothing.
func (d *document) refer(target *jsonschema.Node, ref string, a at) expr {
	switch {
	case target == nil:
		return d.word(unknown)
	case !target.Is(jsonschema.Object): // true or false
		return d.typeOf(target, a.deeper())
	case a.alias != nil && d.leads(target, a.alias, a.crossed):
		return d.word(unknown)
	}
	wish := d.name
	if target != d.doc.Root() {
		wish = jsonschema.RefName(ref)
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
func (d *document) leads(from, to *jsonschema.Node, crossed bool) bool {
	type visit struct {
		n       *jsonschema.Node
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
		if ref := v.n.Get("$ref"); ref.Is(jsonschema.String) {
			todo = append(todo, visit{d.doc.Target(ref.Text), v.crossed})
		}
		keywords := []string{"anyOf", "oneOf", "allOf"}
		if v.crossed || !flat(v.n.Get("items"), 0) {
			keywords = append(keywords, "items", "prefixItems")
			todo = append(todo, visit{v.n.Get("items"), true}, visit{v.n.Get("additionalItems"), true})
		}
		for _, keyword := range keywords {
			for _, branch := range v.n.Get(keyword).List() {
				todo = append(todo, visit{branch, v.crossed})
			}
		}
	}
	return false
}

// refersToRoot reports whether something in a schema refers to all of it.
func (d *document) refersToRoot(n *jsonschema.Node) bool {
	if ref := n.Get("$ref"); ref.Is(jsonschema.String) && d.doc.Target(ref.Text) == d.doc.Root() {
		return true
	}
	for _, m := range n.Members {
		if d.refersToRoot(m.Value) {
			return true
		}
	}
	for _, item := range n.Items {
		if d.refersToRoot(item) {
			return true
		}
	}
	return false
}

// width counts the alternatives of a schema's type, at most some more than
// maxWidth. An intersection has the product of the widths of its parts, which the
// compiler works out.
func (d *document) width(s *jsonschema.Node, depth int) int {
	const deepest = 20
	if !s.Is(jsonschema.Object) {
		return 1
	}
	if depth > deepest || d.tired() {
		return maxWidth + 1
	}
	product := 1
	multiply := func(by int) { product = min(product*max(by, 1), maxWidth+1) }
	if ref := s.Get("$ref"); ref.Is(jsonschema.String) {
		multiply(d.width(d.doc.Target(ref.Text), depth+1))
	}
	multiply(d.widthOf(s.Get("anyOf").List(), depth))
	multiply(d.widthOf(s.Get("oneOf").List(), depth))
	for _, part := range s.Get("allOf").List() {
		multiply(d.width(part, depth+1))
	}
	multiply(len(s.Get("enum").List()))
	multiply(len(s.Get("type").Words()))
	return product
}

// widthOf is the width of a union.
func (d *document) widthOf(branches []*jsonschema.Node, depth int) int {
	sum := 0
	for _, b := range branches {
		if sum = sum + d.width(b, depth+1); sum > maxWidth {
			return maxWidth + 1
		}
	}
	return sum
}
