package namespaces

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// builder makes the nodes of one scope and keeps them within its limits. Both
// the serialiser and the decoder build through it, so one set of rules holds.
type builder struct {
	limits Limits
	nodes  int
	bytes  int // exactly what encode will write for the nodes made so far

	classes int
}

func newBuilder(l Limits) *builder { return &builder{limits: l.withDefaults()} }

// enter counts one node at the given level, the root being level 1, before
// anything below it is looked at.
func (b *builder) enter(at *trail, level, size int) error {
	if level > b.limits.Depth {
		return b.tooDeep(at)
	}
	b.nodes++
	if b.nodes > b.limits.Nodes {
		return b.tooMany(at)
	}
	return b.charge(at, size)
}

func (b *builder) tooMany(at *trail) error {
	return &Error{Code: TooManyNodes, Path: at.String(), Message: fmt.Sprintf(
		"the scope has more than %d values (reached at %s); put bulk data behind a tool", b.limits.Nodes, at.where())}
}

func (b *builder) tooDeep(at *trail) error {
	return &Error{Code: TooDeep, Path: at.String(), Message: fmt.Sprintf(
		"%s lies deeper than the limit of %d levels", at.where(), b.limits.Depth)}
}

// charge counts encoded bytes.
func (b *builder) charge(at *trail, size int) error {
	b.bytes += size
	if b.bytes > b.limits.Bytes {
		return &Error{Code: TooLarge, Path: at.String(), Message: fmt.Sprintf(
			"the scope needs more than %d bytes (reached at %s); put bulk data behind a tool", b.limits.Bytes, at.where())}
	}
	return nil
}

// object starts an object at a level; add its entries with entry, then seal.
func (b *builder) object(at *trail, level int) (*node, error) {
	return &node{kind: objectNode}, b.enter(at, level, len(objectOpen)+len(objectClose))
}

// key checks and counts a key before its value is built.
func (b *builder) key(n *node, key string, at *trail) error {
	if err := checkKey(key, at); err != nil {
		return err
	}
	size := len(appendString(nil, key)) + len(":")
	if len(n.children) > 0 {
		size += len(",")
	}
	return b.charge(at, size)
}

// entry adds an entry with a key that has passed key.
func (n *node) entry(key string, value *node) {
	n.keys = append(n.keys, key)
	n.children = append(n.children, value)
}

// seal sorts the entries of an object and refuses a key that is there twice.
func (n *node) seal(at *trail) error {
	order := make([]int, len(n.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(n.keys[a], n.keys[b]) })
	keys, children := make([]string, len(order)), make([]*node, len(order))
	for i, from := range order {
		keys[i], children[i] = n.keys[from], n.children[from]
		if i > 0 && keys[i] == keys[i-1] {
			return &Error{Code: DuplicateKey, Path: at.String(), Message: "key " + quoteName(keys[i]) + " occurs twice in " + at.where()}
		}
	}
	n.keys, n.children = keys, children
	return nil
}

// array starts an array at a level; add its items with item.
func (b *builder) array(at *trail, level int) (*node, error) {
	return &node{kind: arrayNode}, b.enter(at, level, len(arrayOpen)+len(arrayClose))
}

// item adds an item to an array.
func (b *builder) item(n *node, value *node, at *trail) error {
	n.children = append(n.children, value)
	if len(n.children) > 1 {
		return b.charge(at, len(","))
	}
	return nil
}

// scalar makes a value of a JSON scalar.
func (b *builder) scalar(value []byte, at *trail, level int) (*node, error) {
	return &node{kind: valueNode, value: value}, b.enter(at, level, len(valueOpen)+len(value)+len(valueClose))
}

// text makes a value of a string.
func (b *builder) text(s string, at *trail, level int) (*node, error) {
	if len(s) > b.limits.Bytes {
		return nil, b.charge(at, len(s))
	}
	return b.scalar(appendString(nil, s), at, level)
}

// call makes a callable.
func (b *builder) call(c Call, at *trail, level int) (*node, error) {
	if err := checkCall(&c, at); err != nil {
		return nil, err
	}
	c.Mapping = c.Mapping.canonical()
	return &node{kind: callNode, call: &c}, b.enter(at, level, len(c.encode(nil)))
}

// maxSafeInteger is the largest integer every JavaScript number below which
// is exact: 2^53 - 1.
const maxSafeInteger = 1<<53 - 1

// number returns the JSON scalar for a number literal: a decimal string for
// an integer JavaScript cannot hold exactly, null for what is not finite
// there, and otherwise the literal itself.
func number(literal string) []byte {
	if strings.ContainsAny(literal, ".eE") {
		if _, err := strconv.ParseFloat(literal, 64); err != nil {
			return []byte("null")
		}
		return []byte(literal)
	}
	if i, err := strconv.ParseInt(literal, 10, 64); err != nil || i > maxSafeInteger || i < -maxSafeInteger {
		return appendString(nil, literal)
	}
	return []byte(literal)
}
