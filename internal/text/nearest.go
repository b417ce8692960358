package text

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// MaxCompared is the length in bytes beyond which a name is not compared: it is
// too long to be a slip of the pen.
const MaxCompared = 128

// Nearest returns up to limit of the known names that the wanted one may have been
// meant to be, best first. Case does not count. A name is near if it has the same
// letters with other separators, the same words in another order, a few slips, or
// contains the wanted name or is contained in it. The wanted name itself is never
// returned.
func Nearest(wanted string, known []string, limit int) []string {
	if wanted == "" || len(wanted) > MaxCompared {
		return nil
	}
	type candidate struct {
		name     string
		distance int
	}
	folded := strings.ToLower(wanted)
	var near []candidate
	for _, k := range known {
		if d, ok := Distance(folded, strings.ToLower(k)); ok && k != wanted {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	names := make([]string, 0, limit)
	for _, c := range near[:min(len(near), limit)] {
		names = append(names, c.name)
	}
	return names
}

// Distance returns how far a wanted name is from a known one, 0 for the same
// letters, and false if the one could hardly have been meant by the other. It
// ranks as Nearest says. Both names must be in one case.
func Distance(wanted, name string) (int, bool) {
	const wordsMoved, maxSlips, within = 2, 4, 100
	if Letters(wanted) == Letters(name) {
		return 0, true
	}
	if sameWords(wanted, name) {
		return wordsMoved, true
	}
	allowed := min(max(1, min(len(wanted), len(name))/3), maxSlips)
	if d := EditDistance(wanted, name, allowed); d <= allowed {
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

// Letters returns the letters and digits of a name, without its separators.
func Letters(name string) string {
	return strings.Map(func(r rune) rune {
		if isSeparator(r) {
			return -1
		}
		return r
	}, name)
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func sameWords(a, b string) bool {
	sorted := func(s string) []string { return slices.Sorted(strings.FieldsFuncSeq(s, isSeparator)) }
	words := sorted(a)
	return len(words) > 1 && slices.Equal(words, sorted(b))
}

// EditDistance returns how many insertions, deletions, replacements and swaps of
// neighbouring bytes turn a into b. It stops counting beyond limit, and then
// returns limit+1.
func EditDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
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
		if least > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit+1)
}
