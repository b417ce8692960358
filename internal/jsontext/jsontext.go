// Package jsontext checks what encoding/json lets pass in JSON text.
package jsontext

import (
	"bytes"
	"strconv"
)

// HasLoneSurrogate reports whether a string in valid JSON text holds the escape of a
// UTF-16 surrogate without its other half. Such a string has no UTF-8, and
// encoding/json decodes it to U+FFFD without an error.
func HasLoneSurrogate(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return false
		}
		text = text[i:]
		unit, escaped := unitAt(text)
		switch {
		case !escaped:
			text = text[min(2, len(text)):]
			continue
		case unit < 0xd800 || unit > 0xdfff:
			text = text[6:]
			continue
		case unit > 0xdbff:
			return true
		}
		if low, ok := unitAt(text[6:]); !ok || low < 0xdc00 || low > 0xdfff {
			return true
		}
		text = text[12:]
	}
}

// unitAt reads the escape \uXXXX at the start of text.
func unitAt(text []byte) (unit uint64, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return unit, err == nil
}
