package jsontext

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

const (
	ellipsis = `"…"` // in place of a part without room
	// deepest is how deep Shorten looks. A deeper part that is too large is left out
	// whole, so that a hostile value costs no more than as many readings.
	deepest = 16
	// leastNested is the room from which an element of an array is worth shortening.
	leastNested = 48
)

// Shorten returns a valid JSON text that shows as much of value as max bytes hold, and
// how many bytes of value it shows. It cuts the largest parts first: members and
// elements that are small stay whole, long texts lose their end, and long arrays their
// later elements. What is left out is counted in place. Value is valid JSON; max is
// 16 at the least.
func Shorten(value []byte, max int) (short []byte, shown int) {
	s := shortener{out: make([]byte, 0, min(len(value), max))}
	s.value(trim(value), max, 0)
	return s.out, s.shown
}

// shortener writes a shortened text. No method writes more than its room, if that is at
// least what ellipsis takes or the part fits.
type shortener struct {
	out   []byte
	shown int
}

// keep writes a part of the value as it is.
func (s *shortener) keep(part ...byte) {
	s.out = append(s.out, part...)
	s.shown += len(part)
}

func (s *shortener) value(value []byte, room, depth int) {
	switch {
	case len(value) <= room:
		s.keep(value...)
	case value[0] == '"':
		s.text(value[1:len(value)-1], room)
	case value[0] == '[' && depth < deepest:
		s.array(elements(value), room, depth+1)
	case value[0] == '{' && depth < deepest:
		s.object(members(value), room, depth+1)
	default:
		s.out = append(s.out, ellipsis...)
	}
}

// text writes the start of a text, which is given without its quotes.
func (s *shortener) text(inner []byte, room int) {
	note := fmt.Sprintf("… [%d more bytes]", len(inner))
	if room < 3*len(note) {
		note = "…"
	}
	n := 0
	for end := 0; n < len(inner); n = end {
		if end = n + TokenEnd(inner[n:]); end+len(note)+len(`""`) > room {
			break
		}
	}
	s.out = append(s.out, '"')
	s.keep(inner[:n]...)
	if note != "…" {
		note = fmt.Sprintf("… [%d more bytes]", len(inner)-n)
	}
	s.out = append(append(s.out, note...), '"')
}

// array writes the first elements: whole, or shortened to a third of the room.
func (s *shortener) array(items [][]byte, room, depth int) {
	note := func(n int) string { return fmt.Sprintf(`"… [%d more items]"`, n) }
	left := room - len(`[,]`) - len(note(len(items)))
	if left < 0 {
		s.out = append(s.out, ellipsis...)
		return
	}
	third := left / 3
	s.keep('[')
	for i, item := range items {
		from := len(s.out)
		size := len(item)
		if size > third && (i > 0 || size > left) {
			size = min(third, left)
		}
		if size+1 > left || size < len(item) && size < leastNested {
			if i > 0 {
				s.out = append(s.out, ',')
			}
			s.out = append(s.out, note(len(items)-i)...)
			break
		}
		if i > 0 {
			s.keep(',')
		}
		s.value(item, size, depth)
		left -= len(s.out) - from
	}
	s.keep(']')
}

// object writes the first members, as many as have room for their names. Their
// values share the rest: small ones stay whole, and the largest are shortened to
// the same size.
func (s *shortener) object(all []member, room, depth int) {
	note := func(n int) string { return fmt.Sprintf(`"…":"%d more members"`, n) }
	left := room - len(`{,}`) - len(note(len(all)))
	if left < 0 {
		s.out = append(s.out, ellipsis...)
		return
	}
	var kept []member
	for _, m := range all {
		need := len(m.name) + len(`:,`) + min(len(m.value), len(ellipsis))
		if need > left {
			break
		}
		left -= need
		kept = append(kept, m)
	}
	if len(kept) == len(all) {
		left += len(note(len(all)))
	}
	most := fairShare(kept, left)
	s.keep('{')
	for i, m := range kept {
		if i > 0 {
			s.keep(',')
		}
		s.keep(m.name...)
		s.keep(':')
		s.value(m.value, max(most, len(ellipsis)), depth)
	}
	if n := len(all) - len(kept); n > 0 {
		if len(kept) > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, note(n)...)
	}
	s.keep('}')
}

// fairShare returns the size that no value may exceed, so that all of them together take
// at most left bytes more than an ellipsis for each.
func fairShare(list []member, left int) int {
	sizes := make([]int, 0, len(list))
	for _, m := range list {
		sizes = append(sizes, len(m.value))
		left += min(len(m.value), len(ellipsis))
	}
	slices.Sort(sizes)
	for i, size := range sizes {
		share := left / (len(sizes) - i)
		if size > share {
			return share
		}
		left -= size
	}
	return left
}

// member is one member of an object. The name has its quotes.
type member struct{ name, value []byte }

// elements takes an array apart.
func elements(array []byte) (items [][]byte) {
	for at := skipSpace(array, 1); array[at] != ']'; {
		end := valueEnd(array, at)
		items = append(items, array[at:end])
		if at = skipSpace(array, end); array[at] == ',' {
			at = skipSpace(array, at+1)
		}
	}
	return items
}

// members takes an object apart.
func members(object []byte) (list []member) {
	for at := skipSpace(object, 1); object[at] != '}'; {
		name := object[at:valueEnd(object, at)]
		at = skipSpace(object, skipSpace(object, at+len(name))+1)
		end := valueEnd(object, at)
		list = append(list, member{name, object[at:end]})
		if at = skipSpace(object, end); object[at] == ',' {
			at = skipSpace(object, at+1)
		}
	}
	return list
}

// valueEnd returns where the value ends that starts at an index of valid JSON.
func valueEnd(text []byte, at int) int {
	for depth := 0; at < len(text); {
		switch text[at] {
		case '"':
			at = stringEnd(text, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		case ',', ':', ' ', '\t', '\n', '\r':
			at++
			continue
		default:
			for at < len(text) && !ends[text[at]] {
				at++
			}
		}
		if depth == 0 {
			return at
		}
	}
	return at
}

// ends are the characters at which a number or a word ends.
var ends = [256]bool{',': true, ':': true, '}': true, ']': true, ' ': true, '\t': true, '\n': true, '\r': true}

// stringEnd returns where the string ends that starts at an index.
func stringEnd(text []byte, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return min(at+1, len(text))
}

func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
		at++
	}
	return at
}

// trim returns a value without the white space around it.
func trim(value []byte) []byte {
	at := skipSpace(value, 0)
	return value[at:valueEnd(value, at)]
}

// Outline says in a line what a value is and where most of its bytes are. Value is valid
// JSON. The line has at most some 400 bytes.
func Outline(value []byte) string {
	const most = 5
	value = trim(value)
	switch value[0] {
	case '[':
		items := elements(value)
		return fmt.Sprintf("an array of %d items, %s each on average", len(items), Bytes(len(value)/max(len(items), 1)))
	case '{':
		list := members(value)
		slices.SortStableFunc(list, func(a, b member) int { return cmp.Compare(len(b.value), len(a.value)) })
		line := fmt.Sprintf("an object of %d members, the largest", len(list))
		for i, m := range list[:min(len(list), most)] {
			if i > 0 {
				line += ","
			}
			name, _ := Shorten(m.name, 48)
			line += fmt.Sprintf(" %s: %s", name, Bytes(len(m.value)))
			if m.value[0] == '[' {
				line += fmt.Sprintf(" in %d items", len(elements(m.value)))
			}
		}
		return line
	case '"':
		return "a text of " + Bytes(len(value))
	}
	return "one of " + Bytes(len(value))
}

// Bytes writes a number of bytes in two or three digits and a unit.
func Bytes(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d bytes", n)
	case n < 10_000:
		return fmt.Sprintf("%.1f KB", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%d KB", n/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// TokenEnd returns the length of the first token of the inside of a JSON string: a
// character or an escape sequence. Two escapes that are one character are one token.
func TokenEnd(text []byte) int {
	const escape = len(`\u0000`)
	switch {
	case text[0] != '\\':
		_, n := utf8.DecodeRune(text)
		return n
	case len(text) < escape || text[1] != 'u':
		return min(2, len(text))
	}
	if high, _ := unitAt(text); high < 0xd800 || high > 0xdbff {
		return escape
	}
	if low, ok := unitAt(text[escape:]); !ok || low < 0xdc00 || low > 0xdfff {
		return escape
	}
	return 2 * escape
}
