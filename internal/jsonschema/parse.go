package jsonschema

import (
	"bytes"
	"encoding/json"
	"slices"
	"unicode/utf8"
)

// Bounds of what is read of one schema.
const (
	maxBytes   = 512 << 10
	maxNodes   = 20_000
	maxNesting = 100
)

// Parse reads a schema, or any JSON value. It returns nil if doc is not one JSON
// value or exceeds the bounds. The tree refers to doc: do not change it afterwards.
func Parse(doc json.RawMessage) *Document {
	return Bounds{Bytes: maxBytes, Values: maxNodes, Nesting: maxNesting}.Parse(doc)
}

// Bounds are the bounds of what is read of one value.
type Bounds struct{ Bytes, Values, Nesting int }

// Parse is the function Parse with other bounds. Each level of nesting costs stack.
func (b Bounds) Parse(doc json.RawMessage) *Document {
	if len(doc) > b.Bytes || !json.Valid(doc) {
		return nil
	}
	p := parser{doc: doc, bounds: b}
	if root := p.value(0); root != nil {
		return &Document{root: root}
	}
	return nil
}

// parser makes nodes of valid JSON.
type parser struct {
	doc    []byte
	at     int
	nodes  int
	bounds Bounds
}

// next skips white space and returns the character after it.
func (p *parser) next() byte {
	for p.doc[p.at] == ' ' || p.doc[p.at] == '\t' || p.doc[p.at] == '\n' || p.doc[p.at] == '\r' {
		p.at++
	}
	return p.doc[p.at]
}

// value reads the next value. It returns nil beyond the bounds.
func (p *parser) value(depth int) *Node {
	if p.nodes++; p.nodes > p.bounds.Values || depth > p.bounds.Nesting {
		return nil
	}
	c, start := p.next(), p.at
	n := &Node{}
	switch c {
	case '{':
		if n.Kind = Object; !p.members(n, depth) {
			return nil
		}
	case '[':
		if n.Kind = Array; !p.items(n, depth) {
			return nil
		}
	case '"':
		n.Kind, n.Text = String, p.text()
	case 't', 'f':
		n.Kind, n.Truth = Bool, c == 't'
		p.at += len("true")
		if c == 'f' {
			p.at++
		}
	case 'n':
		p.at += len("null")
	default:
		n.Kind = Number
		for p.at < len(p.doc) && bytes.IndexByte([]byte("+-.0123456789Ee"), p.doc[p.at]) >= 0 {
			p.at++
		}
		n.Text = string(p.doc[start:p.at])
	}
	n.Raw = p.doc[start:p.at:p.at]
	return n
}

// members reads the members of an object.
func (p *parser) members(n *Node, depth int) bool {
	var places map[string]int // of an object that is too large for a look at each
	for p.at++; p.next() != '}'; {
		if p.doc[p.at] == ',' {
			p.at++
			p.next()
		}
		name := p.text()
		p.next()
		p.at++ // the colon
		value := p.value(depth + 1)
		if value == nil {
			return false
		}
		if places == nil && len(n.Members) == manyMembers {
			places = make(map[string]int, 2*manyMembers)
			for i, m := range n.Members {
				places[m.Key] = i
			}
		}
		if at := placeOf(name, n.Members, places); at >= 0 {
			n.Members[at].Value = value
			continue
		}
		if places != nil {
			places[name] = len(n.Members)
		}
		n.Members = append(n.Members, Member{name, value})
	}
	p.at++
	return true
}

// manyMembers is the number of members from which a map is faster.
const manyMembers = 16

// placeOf returns where the member of that name is, -1 if there is no such member.
func placeOf(name string, members []Member, places map[string]int) int {
	if places != nil {
		if at, ok := places[name]; ok {
			return at
		}
		return -1
	}
	return slices.IndexFunc(members, func(m Member) bool { return m.Key == name })
}

// items reads the items of an array.
func (p *parser) items(n *Node, depth int) bool {
	for p.at++; p.next() != ']'; {
		if p.doc[p.at] == ',' {
			p.at++
		}
		item := p.value(depth + 1)
		if item == nil {
			return false
		}
		n.Items = append(n.Items, item)
	}
	p.at++
	return true
}

// text reads a string.
func (p *parser) text() string {
	start := p.at
	isPlain := true
	for p.at++; p.doc[p.at] != '"'; p.at++ {
		if p.doc[p.at] == '\\' {
			isPlain = false
			p.at++
		}
	}
	p.at++
	literal := p.doc[start:p.at]
	if isPlain && utf8.Valid(literal) {
		return string(literal[1 : len(literal)-1])
	}
	var s string
	if json.Unmarshal(literal, &s) != nil {
		panic("jsonschema: a string of valid JSON cannot be decoded") // it always can
	}
	return s
}
