package json5

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Bounds of a document.
const (
	MaxBytes = 16 << 20 // length of the text
	MaxDepth = 100      // objects and lists within each other
)

// SyntaxError says where a text stops being JSON5, and what was expected.
type SyntaxError struct {
	Pos     Pos
	Message string
}

func (e *SyntaxError) Error() string { return e.Pos.String() + ": " + e.Message }

// Parse reads one value, with comments and space around it. It fails with a
// *SyntaxError.
func Parse(text []byte) (*Value, error) {
	v, _, err := parse(text)
	return v, err
}

// parse is Parse, and returns the comments too.
func parse(text []byte) (*Value, []span, error) {
	if len(text) > MaxBytes {
		return nil, nil, &SyntaxError{Pos{1, 1}, fmt.Sprintf("the text has %d bytes, more than the %d that are read", len(text), MaxBytes)}
	}
	p := &parser{text: text}
	v, err := p.document()
	if err != nil {
		return nil, nil, &SyntaxError{At(text, err.offset), err.message}
	}
	return v, p.comments, nil
}

// span is a part of a text, from its first byte to the one after it.
type span struct{ start, end int }

// fault is a SyntaxError before its place has been counted out.
type fault struct {
	offset  int
	message string
}

// parser reads one text. Its methods leave at behind what they have read.
type parser struct {
	text  []byte
	at    int
	depth int

	comments []span
}

func (p *parser) fail(offset int, format string, args ...any) *fault {
	return &fault{offset, fmt.Sprintf(format, args...)}
}

// unexpected says what stands where something else should.
func (p *parser) unexpected(want string) *fault {
	if p.at >= len(p.text) {
		return p.fail(p.at, "the text ends here; expected %s", want)
	}
	r, _ := utf8.DecodeRune(p.text[p.at:])
	return p.fail(p.at, "%q stands here; expected %s", r, want)
}

func (p *parser) document() (*Value, *fault) {
	for i, rest := 0, p.text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			return nil, p.fail(i, "the text is not UTF-8")
		}
		i, rest = i+size, rest[size:]
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at < len(p.text) {
		return nil, p.unexpected("the end of the text")
	}
	return v, nil
}

// peek returns the byte at hand, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// rune returns the character at hand and its length, 0 at the end.
func (p *parser) rune() (rune, int) { return utf8.DecodeRune(p.text[p.at:]) }

// space skips white space and comments.
func (p *parser) space() *fault {
	for p.at < len(p.text) {
		r, size := p.rune()
		switch {
		case isSpace(r):
			p.at += size
		case r == '/':
			if err := p.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xa0, 0x2028, 0x2029, 0xfeff:
		return true
	}
	return r > 0xa0 && unicode.Is(unicode.Zs, r)
}

func isLineEnd(r rune) bool { return r == '\n' || r == '\r' || r == 0x2028 || r == 0x2029 }

func (p *parser) comment() *fault {
	start := p.at
	err := p.skipComment()
	p.comments = append(p.comments, span{start, p.at})
	return err
}

func (p *parser) skipComment() *fault {
	start := p.at
	rest := p.text[p.at:]
	switch {
	case len(rest) > 1 && rest[1] == '/':
		for p.at < len(p.text) {
			r, size := p.rune()
			if isLineEnd(r) {
				return nil
			}
			p.at += size
		}
		return nil
	case len(rest) > 1 && rest[1] == '*':
		for p.at += 2; p.at+1 < len(p.text); p.at++ {
			if p.text[p.at] == '*' && p.text[p.at+1] == '/' {
				p.at += 2
				return nil
			}
		}
		return p.fail(start, "the comment that starts here does not end; close it with */")
	}
	return p.unexpected("a value or a comment, // or /* */")
}

func (p *parser) value() (*Value, *fault) {
	v, err := p.readValue()
	v.end = p.at
	return v, err
}

func (p *parser) readValue() (*Value, *fault) {
	v := &Value{Offset: p.at}
	switch c := p.peek(); {
	case c == '{':
		return v, p.nested(v, p.object)
	case c == '[':
		return v, p.nested(v, p.array)
	case c == '"' || c == '\'':
		v.Kind = String
		var err *fault
		v.Text, err = p.quoted()
		return v, err
	case c == '+' || c == '-' || c == '.' || '0' <= c && c <= '9':
		return v, p.number(v)
	}
	return v, p.word(v)
}

// nested reads an object or a list, not too deep.
func (p *parser) nested(v *Value, read func(*Value) *fault) *fault {
	if p.depth++; p.depth > MaxDepth {
		return p.fail(p.at, "objects and lists are more than %d levels deep", MaxDepth)
	}
	p.at++
	err := read(v)
	p.depth--
	return err
}

// word reads a value that is a bare word.
func (p *parser) word(v *Value) *fault {
	start := p.at
	name, err := p.identifier("a value")
	if err != nil {
		return err
	}
	switch name {
	case "null":
	case "true", "false":
		v.Kind, v.Bool = Bool, name == "true"
	case "Infinity", "NaN":
		p.at = start
		return p.number(v)
	default:
		return p.fail(start, "%.64q stands here; expected a value; text needs quotes", name)
	}
	if string(p.text[start:p.at]) != name {
		return p.fail(start, "a word such as %s must not be written with escapes", name)
	}
	return nil
}

func (p *parser) array(v *Value) *fault {
	v.Kind = Array
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == ']' {
			p.at++
			return nil
		}
		item, err := p.value()
		if err != nil {
			return err
		}
		v.Items = append(v.Items, item)
		if done, err := p.separator(']', v.Offset, "list"); done || err != nil {
			return err
		}
	}
}

func (p *parser) object(v *Value) *fault {
	v.Kind = Object
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == '}' {
			p.at++
			return nil
		}
		m, err := p.member()
		if err != nil {
			return err
		}
		v.Members = append(v.Members, m)
		done, err := p.separator('}', v.Offset, "object")
		if done || err != nil {
			return err
		}
		v.Members[len(v.Members)-1].comma = p.at - 1
	}
}

func (p *parser) member() (m Member, err *fault) {
	m.Offset = p.at
	if c := p.peek(); c == '"' || c == '\'' {
		m.Name, err = p.quoted()
	} else {
		m.Name, err = p.identifier("a field name or }")
	}
	if err == nil {
		err = p.space()
	}
	if err != nil {
		return m, err
	}
	if p.peek() != ':' {
		return m, p.unexpected(fmt.Sprintf("a colon after the field name %.64q", m.Name))
	}
	p.at++
	if err := p.space(); err != nil {
		return m, err
	}
	m.Value, err = p.value()
	return m, err
}

// separator reads what stands after an element: a comma, or the end.
func (p *parser) separator(closing byte, opened int, what string) (done bool, _ *fault) {
	if err := p.space(); err != nil {
		return false, err
	}
	switch p.peek() {
	case ',':
		p.at++
		return false, nil
	case closing:
		p.at++
		return true, nil
	}
	return false, p.unexpected(fmt.Sprintf("a comma or %c: the %s starts at %s", closing, what, At(p.text, opened)))
}
