package schemalimit

import (
	"bytes"
	"strings"
)

// Limits of a number in JSON: far more than programs calculate with. The validator
// calculates exactly, and would be busy for minutes with one number of a million
// digits, or with a list of such as 1e999999.
const (
	maxNumberText = 512 // bytes
	maxExponent   = 3   // digits
)

// WildNumber returns the start of the first number in JSON that exceeds those
// limits. It returns "" without such a number.
func WildNumber(b []byte) string {
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '0' <= b[i] && b[i] <= '9':
			n := len(b[i:]) - len(bytes.TrimLeft(b[i:], "0123456789.eE+-"))
			if text := b[i : i+n]; wild(text) {
				return string(text[:min(n, 20)])
			}
			i += n - 1
		}
	}
	return ""
}

func wild(number []byte) bool {
	if len(number) > maxNumberText {
		return true
	}
	at := bytes.IndexAny(number, "eE")
	return at >= 0 && len(strings.TrimLeft(string(number[at+1:]), "+-0")) > maxExponent
}
