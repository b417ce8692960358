// Package terminal writes texts of strangers so that they do nothing to a terminal
// and hide nothing from who reads them: control characters, escape sequences and
// characters that change the direction of text become visible escapes.
//
// Use [Line] or [Short] for a name or a table cell, [Text] for what may have
// several lines, [JSON] for a document, and [Fprintf] or [Fprintln] in place of
// package fmt's to escape all that is printed. The functions keep no state and
// accept any string, valid UTF-8 or not.
package terminal

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxShort is the length in characters to which Short cuts.
const maxShort = 200

// Line returns s as one line. Line breaks and tabs are escaped as in a Go string,
// and so are letters that look like blanks.
func Line(s string) string {
	q := strconv.QuoteToGraphic(s)
	q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
	var b strings.Builder
	for _, r := range q {
		if strings.ContainsRune(blankLetters, r) || unicode.Is(unicode.Variation_Selector, r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// blankLetters are letters and symbols that look like blanks.
const blankLetters = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"

// Short is Line of at most 200 characters of s.
func Short(s string) string {
	if r := []rune(s); len(r) > maxShort {
		s = string(r[:maxShort-1]) + "…"
	}
	return Line(s)
}

// Text returns s with its line breaks and tabs, and all other control characters
// escaped.
func Text(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !isHarmless(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if isHarmless(r) && (r != utf8.RuneError || n > 1) {
			b.WriteRune(r)
		} else {
			b.WriteString(Line(s[:n]))
		}
		s = s[n:]
	}
	return b.String()
}

// JSON returns the same JSON with escapes for the characters that do something to a
// terminal although JSON lets them stand: bidirectional controls, DEL and the
// controls of C1. A carriage return, which stands between values, becomes a blank.
func JSON(doc []byte) []byte {
	var out []byte
	for _, r := range string(doc) {
		if r == '\r' {
			r = ' '
		}
		if isHarmless(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}

// isHarmless reports whether a terminal only shows a character.
func isHarmless(r rune) bool { return r == '\n' || r == '\t' || unicode.IsGraphic(r) }

// Fprintf is fmt.Fprintf of what Text returns. Format must hold no escape sequences
// of its own.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return io.WriteString(w, Text(fmt.Sprintf(format, args...)))
}

// Fprintln is fmt.Fprintln of what Text returns.
func Fprintln(w io.Writer, args ...any) (int, error) {
	return io.WriteString(w, Text(fmt.Sprintln(args...)))
}
