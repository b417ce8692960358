package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
)

// maxWordBytes is the length from which a word is no word but data.
const maxWordBytes = 64

// eachWord gives the words of a text in lower case. Words end at everything
// but letters, digits and marks. A camelCase word is given by its parts and
// then as a whole. Scripts written without spaces are given in overlapping
// pairs of characters.
func eachWord(text string, word func(string)) {
	for _, run := range strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}) {
		if len(run) > maxWordBytes && utf8.RuneCountInString(run) == len(run) {
			continue
		}
		if strings.IndexFunc(run, unspaced) >= 0 {
			eachPair([]rune(run), word)
			continue
		}
		if len(run) > maxWordBytes {
			continue
		}
		eachPart(run, func(part string) {
			if len(part) < len(run) {
				word(strings.ToLower(part))
			}
		})
		word(strings.ToLower(run))
	}
}

// eachPart gives the parts of a camelCase word: "listHTTPRoutes" has list,
// HTTP and Routes.
func eachPart(run string, part func(string)) {
	start := 0
	var before, last rune
	at := 0
	for i, r := range run {
		starts := i > 0 && (unicode.IsUpper(r) && !unicode.IsUpper(last))
		ends := i > 0 && at > start && unicode.IsUpper(last) && unicode.IsUpper(before) && unicode.IsLower(r)
		switch {
		case starts:
			part(run[start:i])
			start = i
		case ends: // the last capital starts the next part
			part(run[start:at])
			start = at
		}
		before, last, at = last, r, i
	}
	part(run[start:])
}

// unspaced reports whether a character belongs to a script that does not put
// spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// eachPair calls f with each pair of neighbouring characters, which stand for
// words in scripts without spaces.
func eachPair(run []rune, word func(string)) {
	if len(run) == 1 {
		word(string(run))
	}
	for i := 1; i < len(run); i++ {
		word(strings.ToLower(string(run[i-1 : i+1])))
	}
}

// stem returns the stem of an English word in lower case, and other words as
// they are.
func stem(word string) string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return english.Stem(word, true)
}

// isStopWord reports whether a word says nothing about a tool.
func isStopWord(word string) bool { return english.IsStopWord(word) }
