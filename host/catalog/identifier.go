package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// takenNames never become functions: the catalog's own helpers, what
// JavaScript asks every object for, and names that change how await and JSON treat the object.
var takenNames = []string{"search", "describe", "call", "__proto__", "then", "toJSON"}

// IsTaken reports whether a safe name never becomes a function.
func IsTaken(name string) bool {
	return slices.Contains(takenNames, name) || strings.HasPrefix(name, "__quoin")
}

// SafeName returns a tool's name with each character that cannot stand in a
// JavaScript identifier replaced by "_", and a "_" before a leading digit.
// Reserved words stay: they are fine as property names.
func SafeName(name string) string {
	if isSafe(name) {
		return name
	}
	safe := strings.Map(func(r rune) rune {
		if identifierPart(r) {
			return r
		}
		return '_'
	}, name)
	if first, _ := utf8.DecodeRuneInString(safe); !identifierStart(first) {
		safe = "_" + safe
	}
	return safe
}

// isSafe is the common case: ASCII identifiers need no change.
func isSafe(name string) bool {
	for i := range len(name) {
		if c := rune(name[i]); c >= utf8.RuneSelf || !identifierPart(c) || i == 0 && !identifierStart(c) {
			return false
		}
	}
	return name != ""
}

// identifierStart reports whether r can start a JavaScript identifier.
func identifierStart(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '$' || r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return (unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)) && !unicode.Is(unicode.Pattern_Syntax, r)
}

// identifierPart reports whether r can stand inside a JavaScript identifier.
func identifierPart(r rune) bool {
	if r < utf8.RuneSelf {
		return identifierStart(r) || '0' <= r && r <= '9'
	}
	return identifierStart(r) || unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc)
}
