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
	callTemplate            = `,"template":true`
	callReturns             = `,"returns":`
	callReturnsIn           = `,"returnsIn":`
	guestCall               = `{"kind":"call"`

	classesOpen, classesClose          = `,"classes":{`, `}`
	classKey, classMethods, classClose = `{"key":`, `,"methods":{`, `}}`
)

// MarshalJSON writes the tagged tree in its canonical form: keys sorted, no
// spaces, fields in a fixed order. Equal scopes have equal bytes.
func (s *Scope) MarshalJSON() ([]byte, error) {
	return s.encode((*Call).encode), nil
}

// Guest returns the descriptor given to the guest: the same tree, in which a
// callable says only that it is one, whether it is a tag of templates, and which
// class its results have. No tool name or mapping is in it. The caller owns the
// bytes.
func (s *Scope) Guest() []byte {
	return s.encode((*Call).encodeGuest)
}

// encode writes the tree and the classes; call says how calls are written.
func (s *Scope) encode(call func(*Call, []byte) []byte) []byte {
	dst := s.tree().encode(nil, call)
	if s == nil || len(s.classes) == 0 {
		return dst
	}
	dst = append(dst[:len(dst)-len("}")], classesOpen...)
	for i, c := range s.classes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, c.Name), ':')
		dst = c.encode(dst, call)
	}
	return append(append(dst, classesClose...), '}')
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
	return append(c.encodeUse(dst), callClose...)
}

// encodeCanonical is encode for a call that no builder has made.
func (c *Call) encodeCanonical(dst []byte) []byte {
	own := *c
	own.Mapping = own.Mapping.canonical()
	return own.encode(dst)
}

// encodeGuest appends what a guest is told of a call.
func (c *Call) encodeGuest(dst []byte) []byte {
	return append(c.encodeUse(append(dst, guestCall...)), callClose...)
}

// encodeUse appends what concerns how a guest calls and what it gets.
func (c *Call) encodeUse(dst []byte) []byte {
	if c.Template {
		dst = append(dst, callTemplate...)
	}
	if c.Returns != nil {
		dst = appendString(append(dst, callReturns...), c.Returns.Name)
	}
	if c.ReturnsIn != "" {
		dst = appendString(append(dst, callReturnsIn...), c.ReturnsIn)
	}
	return dst
}

// encode appends the encoded mapping.
func (m *Mapping) encode(dst []byte) []byte {
	dst = append(dst, `{"kind":`...)
	dst = appendString(dst, m.Kind.String())
	if len(m.Positional) > 0 {
		dst = appendStrings(append(dst, `,"positional":`...), m.Positional)
	}
	if m.Rest != "" {
		dst = appendString(append(dst, `,"rest":`...), m.Rest)
	}
	if m.Options {
		dst = append(dst, `,"options":true`...)
	}
	if len(m.OptionNames) > 0 {
		dst = appendStrings(append(dst, `,"optionNames":`...), m.OptionNames)
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

// appendStrings appends an array of strings.
func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, s)
	}
	return append(dst, ']')
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
