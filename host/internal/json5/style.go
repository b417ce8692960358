package json5

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// style is how a text is written.
type style struct {
	quoted bool   // every name has double quotes, as in JSON: no commas at ends then
	step   string // of indentation
	eol    string // the end of a line
}

// maxLine is how long a line with a whole object may be.
const maxLine = 100

// observe finds out how the text is written.
func (e *editor) observe() style {
	s := style{quoted: len(e.root.Members) > 0, step: "  ", eol: "\n"}
	if first := bytes.IndexByte(e.text, '\n'); first > 0 && e.text[first-1] == '\r' {
		s.eol = "\r\n"
	}
	for _, m := range e.root.Members {
		s.quoted = s.quoted && e.text[m.Offset] == '"'
	}
	if e.root.Kind == Object && len(e.root.Members) > 0 && e.indent(e.root.Offset) == "" {
		if own := e.indent(e.root.Members[0].Offset); own != "" {
			s.step = own
		}
	}
	return s
}

// append writes v. Its lines after the first start with indent; without lines it has
// one.
func (s style) append(b []byte, v *Value, indent string, lines bool) []byte {
	switch v.Kind {
	case Object:
		return s.appendObject(b, v, indent, lines)
	case Array:
		b = append(b, '[')
		for i, item := range v.Items {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = s.append(b, item, indent, false)
		}
		return append(b, ']')
	case String:
		return appendQuoted(b, v.Text)
	case Number:
		return append(b, v.Text...)
	case Bool:
		if v.Bool {
			return append(b, "true"...)
		}
		return append(b, "false"...)
	default:
		return append(b, "null"...)
	}
}

// appendObject writes an object of simple values on one line if there is room.
func (s style) appendObject(b []byte, v *Value, indent string, lines bool) []byte {
	if len(v.Members) == 0 {
		return append(b, "{}"...)
	}
	nested := false
	for _, m := range v.Members {
		nested = nested || m.Value.Kind == Object && len(m.Value.Members) > 0
	}
	if !lines || !nested {
		short := s.appendShort(nil, v)
		if before := len(b) - bytes.LastIndexByte(b, '\n') - 1; !lines || before+utf8.RuneCount(short) <= maxLine {
			return append(b, short...)
		}
	}
	b = append(b, '{')
	inner := indent + s.step
	for i, m := range v.Members {
		b = append(append(b, s.eol...), inner...)
		b = append(s.appendName(b, m.Name), ": "...)
		b = s.append(b, m.Value, inner, true)
		if i < len(v.Members)-1 || !s.quoted {
			b = append(b, ',')
		}
	}
	b = append(append(b, s.eol...), indent...)
	return append(b, '}')
}

func (s style) appendShort(b []byte, v *Value) []byte {
	b = append(b, "{ "...)
	for i, m := range v.Members {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(s.appendName(b, m.Name), ": "...)
		b = s.append(b, m.Value, "", false)
	}
	return append(b, " }"...)
}

// appendName writes a name without quotes where the text has such names and every
// reader of JSON5 takes it.
func (s style) appendName(b []byte, name string) []byte {
	plain := name != "" && !s.quoted && (name[0] < '0' || name[0] > '9') &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") == ""
	if plain {
		return append(b, name...)
	}
	return appendQuoted(b, name)
}

// appendQuoted writes a string as JSON.
func appendQuoted(b []byte, text string) []byte {
	quoted, err := jsontext.Marshal(text)
	if err != nil {
		panic(err) // every string has JSON
	}
	return append(b, quoted...)
}
