package namespaces

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/text"
)

// maxNameBytes bounds ids, globals and tool names.
const maxNameBytes = 128

// IsIdentifier reports whether name can stand as a JavaScript identifier, by
// its characters alone: reserved words pass here and fail in IsReserved.
func IsIdentifier(name string) bool {
	if name == "" || !utf8.ValidString(name) {
		return false
	}
	for i, r := range name {
		if i == 0 && !identifierStart(r) || !identifierPart(r) {
			return false
		}
	}
	return true
}

// identifierStart is ECMAScript's IdentifierStart.
func identifierStart(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '$' || r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	}
	return (unicode.IsLetter(r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Other_ID_Start, r)) &&
		!unicode.Is(unicode.Pattern_Syntax, r)
}

// identifierPart is ECMAScript's IdentifierPart.
func identifierPart(r rune) bool {
	if r < utf8.RuneSelf {
		return identifierStart(r) || '0' <= r && r <= '9'
	}
	const zwnj, zwj = '\u200c', '\u200d'
	return r == zwnj || r == zwj || identifierStart(r) ||
		unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue)
}

// isPlainID reports whether id is made of ASCII letters, digits, '.', '_' and
// '-', starts with a letter or digit, and is at most 128 bytes long: it names
// a file in the guest's virtual tree and stands in logs.
func isPlainID(id string) bool {
	if id == "" || len(id) > maxNameBytes {
		return false
	}
	for i := range len(id) {
		c := id[i]
		alnum := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !alnum && (i == 0 || c != '.' && c != '_' && c != '-') {
			return false
		}
	}
	return true
}

// isToolName reports whether name can name a tool: 1 to 256 printable bytes
// of valid UTF-8 with no space around them.
func isToolName(name string) bool {
	return name != "" && len(name) <= 2*maxNameBytes && strings.TrimSpace(name) == name && text.IsPrintable(name)
}

// quoteName quotes a name for a message and shortens what would flood it.
func quoteName(name string) string {
	const most = 80
	return strconv.Quote(text.Shorten(name, most))
}
