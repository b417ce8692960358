package namespaces

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// The fixed parts of the encoded form; builder.charge counts on them.
const (
	objectOpen, objectClose = `{"kind":"object","entries":{`, `}}`
	arrayOpen, arrayClose   = `{"kind":"array","items":[`, `]}`
	valueOpen, valueClose   = `{"kind":"value","value":`, `}`
	callOpen, callClose     = `{"kind":"call","tool":`, `}`
	callMapping             = `,"mapping":`
	guestCall               = `{"kind":"call"}`
)

// MarshalJSON writes the tagged tree in its canonical form: keys sorted, no
// spaces, fields in a fixed order. Equal scopes have equal bytes.
func (s *Scope) MarshalJSON() ([]byte, error) {
	return s.tree().encode(nil, (*Call).encode), nil
}

// Guest returns the descriptor given to the guest: the same tree, in which a
// callable says only that it is one. No tool name or mapping is in it. The
// caller owns the bytes.
func (s *Scope) Guest() []byte {
	return s.tree().encode(nil, func(_ *Call, dst []byte) []byte { return append(dst, guestCall...) })
}

// encode appends the encoded node; call says how calls are written.
func (n *node) encode(dst []byte, call func(*Call, []byte) []byte) []byte {
	switch n.kind {
	case objectNode:
		dst = append(dst, objectOpen...)
		for i, c := range n.children {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, n.keys[i]), ':')
			dst = c.encode(dst, call)
		}
		return append(dst, objectClose...)
	case arrayNode:
		dst = append(dst, arrayOpen...)
		for i, c := range n.children {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = c.encode(dst, call)
		}
		return append(dst, arrayClose...)
	case callNode:
		return call(n.call, dst)
	}
	dst = append(dst, valueOpen...)
	dst = append(dst, n.value...)
	return append(dst, valueClose...)
}

// encode appends the encoded call with its tool and mapping.
func (c *Call) encode(dst []byte) []byte {
	dst = append(dst, callOpen...)
	dst = appendString(dst, c.Tool)
	if !c.Mapping.isZero() {
		dst = append(dst, callMapping...)
		dst = c.Mapping.encode(dst)
	}
	return append(dst, callClose...)
}

// encode appends the encoded mapping.
func (m *Mapping) encode(dst []byte) []byte {
	dst = append(dst, `{"kind":`...)
	dst = appendString(dst, m.Kind.String())
	if len(m.Positional) > 0 {
		dst = append(dst, `,"positional":[`...)
		for i, name := range m.Positional {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, name)
		}
		dst = append(dst, ']')
	}
	if m.Rest != "" {
		dst = appendString(append(dst, `,"rest":`...), m.Rest)
	}
	if len(m.Fixed) > 0 {
		dst = append(dst, `,"fixed":`...)
		dst = appendFields(dst, m.Fixed)
	}
	if m.Mapper != "" {
		dst = appendString(append(dst, `,"mapper":`...), m.Mapper)
	}
	return append(dst, '}')
}

// appendFields appends an object with its keys sorted.
func appendFields(dst []byte, fields map[string]json.RawMessage) []byte {
	dst = append(dst, '{')
	for i, key := range slices.Sorted(maps.Keys(fields)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, key), ':')
		dst = append(dst, fields[key]...)
	}
	return append(dst, '}')
}

// appendString appends s as a JSON string, U+FFFD in place of invalid UTF-8.
// U+2028 and U+2029 are escaped, so that the text is JavaScript as well.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		bad := r == utf8.RuneError && size == 1
		if r >= ' ' && r != '"' && r != '\\' && r != '\u2028' && r != '\u2029' && !bad {
			i += size
			continue
		}
		dst = append(dst, s[start:i]...)
		switch {
		case bad:
			dst = append(dst, "\ufffd"...)
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		}
		i += size
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
