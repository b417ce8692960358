package catalog

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxSuggestions is how many tools an error offers instead.
const maxSuggestions = 3

// maxCompared is the length in bytes from which a name is too long to be a
// slip of the pen.
const maxCompared = 128

// similar returns the tools a guest may have meant by a name that is no
// tool's, best first.
func (c *Catalog) similar(wanted string) []*Tool {
	if wanted == "" || len(wanted) > maxCompared {
		return nil
	}
	folded := strings.ToLower(wanted)
	_, name, isID := cutLast(folded, ":")
	type candidate struct {
		tool     *Tool
		distance int
	}
	var found []candidate
	for _, t := range c.guest {
		d, ok := unlikeness(name, strings.ToLower(t.Name))
		if isID && ok {
			d += wrongOwner
			if byID, ok := unlikeness(folded, strings.ToLower(t.ID())); ok {
				d = min(d, byID)
			}
		}
		if ok {
			found = append(found, candidate{t, d})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	tools := make([]*Tool, 0, maxSuggestions)
	for _, f := range found[:min(len(found), maxSuggestions)] {
		tools = append(tools, f.tool)
	}
	return tools
}

// Nearest returns at most most of the known names that a wanted one may be a slip
// of, best first: same letters in other case or with other separators, the same
// words in another order, few slips, one within the other.
func Nearest(wanted string, known []string, most int) []string {
	if wanted == "" || len(wanted) > maxCompared {
		return nil
	}
	folded := strings.ToLower(wanted)
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	for _, k := range known {
		if d, ok := unlikeness(folded, strings.ToLower(k)); ok && k != wanted {
			found = append(found, candidate{k, d})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	names := make([]string, 0, most)
	for _, f := range found[:min(len(found), most)] {
		names = append(names, f.name)
	}
	return names
}

// wrongOwner is how far apart two ids are when only their names are alike.
const wrongOwner = 8

// cutLast cuts s at the last separator; without one, all of s is after it.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return "", s, false
}

// unlikeness says how far a wanted name is from a real one, and false if one
// could hardly be meant by the other: same letters in other case or with other
// separators, the same words in another order, a few slips, then one name
// within the other.
func unlikeness(wanted, name string) (int, bool) {
	const wordsMoved, mostSlips, within = 2, 4, 100
	if letters(wanted) == letters(name) {
		return 0, true
	}
	if sameWords(wanted, name) {
		return wordsMoved, true
	}
	allowed := min(max(1, min(len(wanted), len(name))/3), mostSlips)
	if d := editDistance(wanted, name, allowed); d <= allowed {
		return d, true
	}
	if len(wanted) >= 3 && strings.HasPrefix(name, wanted) || len(name) >= 3 && strings.HasPrefix(wanted, name) {
		return within + len(name), true
	}
	if len(wanted) >= 3 && strings.Contains(name, wanted) || len(name) >= 4 && strings.Contains(wanted, name) {
		return 2*within + len(name), true
	}
	return 0, false
}

// letters returns a name without its separators.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, name)
}

func sameWords(a, b string) bool {
	split := func(s string) []string {
		words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		slices.Sort(words)
		return words
	}
	words := split(a)
	return len(words) > 1 && slices.Equal(words, split(b))
}

// editDistance counts the insertions, deletions, replacements and swaps of
// neighbouring bytes between a and b. It stops counting beyond most.
func editDistance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most {
			return most + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// shown prepares a name for a message: at most 120 bytes, no control
// characters, no line breaks. Names may come from guests.
func shown(name string) string {
	const most = 120
	short := name
	if len(short) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(short[cut]) {
			cut--
		}
		short = short[:cut] + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\ufffd'
		}
		return r
	}, short)
}
