package declare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/jsontext"
)

// modifiers are words that mean something else at the place of a member's name.
var modifiers = []string{"new", "get", "set", "readonly", "static", "async", "accessor", "declare", "constructor"}

// Key writes a property's name: as it is if it is a plain word, else quoted.
func Key(name string) string {
	if plain(name) && !slices.Contains(modifiers, name) {
		return name
	}
	return quote(name)
}

// plain reports whether a name is an identifier in ASCII.
func plain(name string) bool {
	for i := range len(name) {
		if !letter(name[i]) && (i == 0 || name[i] < '0' || name[i] > '9') {
			return false
		}
	}
	return name != ""
}

func letter(c byte) bool {
	return c == '_' || c == '$' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// quote writes a string literal, which TypeScript reads as JSON does.
func quote(text string) string {
	literal, err := jsontext.Marshal(text)
	if err != nil {
		panic("declare: strings cannot be encoded: " + err.Error()) // they always can
	}
	return visible(string(literal))
}

// visible escapes the characters of a literal that show nothing, or that change
// the order in which what is around them is shown.
func visible(literal string) string {
	if strings.IndexFunc(literal, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return literal
	}
	var b strings.Builder
	for _, r := range literal {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// Identifier makes an identifier from any name. Different names have different
// identifiers: a name that is not an identifier gets a digest.
func Identifier(name string) string {
	if plain(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return word(name) + "_" + hex.EncodeToString(sum[:4])
}

// word replaces what cannot stand in an identifier.
func word(name string) string {
	var b strings.Builder
	for i, r := range name {
		switch {
		case r < utf8.RuneSelf && (letter(byte(r)) || '0' <= r && r <= '9'):
			if i == 0 && !letter(byte(r)) {
				b.WriteByte('_')
			}
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
		if b.Len() > 60 {
			break
		}
	}
	return b.String()
}

// typeName returns a name for a definition that no other type of the file has.
func (t *Types) typeName(wish string) string {
	wish = strings.Trim(word(wish), "_")
	if wish == "" {
		wish = "Type"
	}
	wish = t.prefix + "_" + strings.ToUpper(wish[:1]) + wish[1:]
	name := wish
	for i := 2; t.taken[name]; i++ {
		name = fmt.Sprintf("%s%d", wish, i)
	}
	t.taken[name] = true
	return name
}
