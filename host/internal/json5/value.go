package json5

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"
)

// Kind says what a Value is.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String names the kind, with an article.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}[k]
}

// Value is one value of a document.
type Value struct {
	Kind   Kind
	Offset int // of its first byte in the text

	Bool    bool
	Text    string   // String: its content; Number: as it is written
	Number  float64  // Number: the nearest float64; may be infinite or NaN
	Items   []*Value // Array
	Members []Member // Object, in the order of the text; names may repeat

	end int // of it in the text
}

// Member is a name and its value in an object.
type Member struct {
	Name   string
	Offset int // of the name
	Value  *Value

	comma int // the offset of the comma after it; 0 without one
}

// AppendJSON appends v as compact JSON. When a name stands twice, the last member
// counts, as in JSON. It fails for numbers that JSON cannot hold.
func (v *Value) AppendJSON(b []byte) ([]byte, error) {
	switch v.Kind {
	case Null:
		return append(b, "null"...), nil
	case Bool:
		return strconv.AppendBool(b, v.Bool), nil
	case Number:
		return v.appendNumber(b)
	case String:
		return appendText(b, v.Text)
	case Array:
		return v.appendItems(b)
	default:
		return v.appendMembers(b)
	}
}

func (v *Value) appendItems(b []byte) (_ []byte, err error) {
	b = append(b, '[')
	for i, item := range v.Items {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = item.AppendJSON(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func (v *Value) appendMembers(b []byte) (_ []byte, err error) {
	last := make(map[string]int, len(v.Members))
	for i, m := range v.Members {
		last[m.Name] = i
	}
	b = append(b, '{')
	first := true
	for i, m := range v.Members {
		if last[m.Name] != i {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		if b, err = appendText(b, m.Name); err != nil {
			return nil, err
		}
		if b, err = m.Value.AppendJSON(append(b, ':')); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func appendText(b []byte, s string) ([]byte, error) {
	quoted, err := json.Marshal(s)
	return append(b, quoted...), err
}

// appendNumber keeps every digit of an integer.
func (v *Value) appendNumber(b []byte) ([]byte, error) {
	if math.IsNaN(v.Number) || math.IsInf(v.Number, 0) {
		return nil, fmt.Errorf("JSON cannot hold the number %s", v.Text)
	}
	if json.Valid([]byte(v.Text)) {
		return append(b, v.Text...), nil
	}
	if n, ok := new(big.Int).SetString(v.Text, 0); ok && isHex(v.Text) {
		return n.Append(b, 10), nil
	}
	if n, ok := new(big.Int).SetString(v.Text, 10); ok {
		return n.Append(b, 10), nil
	}
	return strconv.AppendFloat(b, v.Number, 'g', -1, 64), nil
}

// Pos is a place in a text, for people.
type Pos struct {
	Line   int // from 1
	Column int // from 1, in characters
}

// String returns "line:column".
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// At returns the place of the byte at offset, which may be the length of text.
// Lines end with LF, CR or CR LF.
func At(text []byte, offset int) Pos {
	offset = min(max(offset, 0), len(text))
	line, start := 1, 0
	for i := 0; i < offset; i++ {
		if text[i] == '\n' || text[i] == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			line, start = line+1, i+1
		}
	}
	return Pos{line, utf8.RuneCount(text[start:offset]) + 1}
}
