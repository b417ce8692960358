package policy

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/text"
)

// maxPattern is the most bytes a pattern may have: an id of the longest names
// with every character escaped.
const maxPattern = 1200

// sources are the sources a tool can have.
var sources = []string{"quoin", "mcp", "client"}

// pattern is one parsed pattern. A part that is nil matches everything.
type pattern struct {
	source, owner, name glob
}

func (p pattern) match(t Tool) bool {
	return p.source.match(t.Source) && p.owner.match(t.Owner) && p.name.match(t.Name)
}

// parse reads a pattern. Want is empty, or says what would be right.
func parse(text string) (p pattern, want string) {
	switch {
	case text == "":
		return p, "a pattern must not be empty; leave it out"
	case len(text) > maxPattern:
		return p, "a pattern must be shorter"
	case !utf8.ValidString(text) || strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return p, "a pattern must be printable text"
	case strings.TrimSpace(text) != text:
		return p, "a pattern must not start or end with spaces"
	}
	head, rest, divided := strings.Cut(text, ":")
	switch {
	case !divided:
		p.name, want = parseGlob(text)
	case head == "name":
		p.name, want = parseGlob(rest)
	case head == "owner":
		if strings.Contains(rest, ":") {
			return p, "an owner has no ':'"
		}
		p.owner, want = parseGlob(rest)
	case head == "source":
		if !slices.Contains(sources, rest) {
			return p, "the sources are " + strings.Join(sources, ", ")
		}
		p.source, want = parseGlob(rest)
	default:
		return parseID(head, rest)
	}
	return p, want
}

// parseID reads the pattern of an id.
func parseID(source, rest string) (p pattern, want string) {
	if source != "*" && !slices.Contains(sources, source) {
		return p, `before a ':' stands "owner", "source", "name", or the source of an id: quoin, mcp, client or *`
	}
	owner, name, whole := strings.Cut(rest, ":")
	if !whole {
		return p, "an id has three parts, <source>:<owner>:<name>; for all tools of an owner write owner:" + bounded(rest)
	}
	if p.source, want = parseGlob(source); want != "" {
		return p, want
	}
	if p.owner, want = parseGlob(owner); want != "" {
		return p, want
	}
	p.name, want = parseGlob(name)
	return p, want
}

// glob is a pattern of characters. Nil matches everything.
type glob []globRune

// globRune is one element of a glob: a character, any one, or any run of them.
type globRune struct {
	char rune
	kind globKind
}

// globKind tells the wildcards from characters.
type globKind uint8

// The kinds of a glob's elements.
const (
	oneChar globKind = iota // char itself
	anyChar                 // ?
	anyRun                  // *
)

// parseGlob reads one part of a pattern.
func parseGlob(text string) (g glob, want string) {
	if text == "" {
		return nil, "no part of a pattern may be empty; * stands for anything"
	}
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			g = append(g, globRune{char: r})
			escaped = false
		case r == '\\':
			escaped = true
		case r == '?':
			g = append(g, globRune{kind: anyChar})
		case r == '*':
			if len(g) == 0 || g[len(g)-1].kind != anyRun { // two say no more than one
				g = append(g, globRune{kind: anyRun})
			}
		default:
			g = append(g, globRune{char: r})
		}
	}
	if escaped {
		return nil, `a "\" at the end escapes nothing; for the character itself write \\`
	}
	return g, ""
}

// match reports whether g matches all of s. It goes back to the last "*" alone,
// so that its work is bounded by the product of the lengths.
func (g glob) match(s string) bool {
	if g == nil {
		return true
	}
	at, star := 0, -1
	var retry string // what is left of s once the last star has taken one character more
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case at < len(g) && g[at].kind == anyRun:
			star, retry = at, s
			at++
			continue
		case at < len(g) && (g[at].kind == anyChar || g[at].char == r):
			at++
			s = s[size:]
			continue
		case star < 0:
			return false
		}
		_, size = utf8.DecodeRuneInString(retry)
		retry = retry[size:]
		s, at = retry, star+1
	}
	for at < len(g) && g[at].kind == anyRun {
		at++
	}
	return at == len(g)
}

// bounded shortens a pattern for a message.
func bounded(pattern string) string { return text.Shorten(pattern, 120) }
