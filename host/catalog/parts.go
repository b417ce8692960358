package catalog

import (
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/text"
)

// BM25's parameters: how soon repetition stops counting, and how much a long
// text is held against a tool.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// index is what a catalog searches: segments, of each the tools that the catalog has. Its
// figures count the catalog's own tools alone. So equal sets of tools are ranked equally
// however their catalogs were made, and nothing of a tool that was left out shows.
type index struct {
	tools   []*Tool // in catalog order
	parts   []part
	average float64 // length of a tool's text
}

// part is a segment in an index.
type part struct {
	*segment
	// numbers are the segment's tools in the index, -1 for those that are not.
	// Nil means all of them, from first.
	numbers []int32
	first   int32
}

// number returns the number of a segment's tool in the index, -1 if it is not there.
func (p *part) number(tool int32) int32 {
	if p.numbers == nil {
		return p.first + tool
	}
	return p.numbers[tool]
}

// newIndex makes an index of parts that hold tools, in order.
func newIndex(tools []*Tool, parts []part) *index {
	var total float64
	for _, p := range parts {
		for i, length := range p.lengths {
			if p.number(int32(i)) >= 0 {
				total += float64(length) // multiples of one half: in any order the sum is the same
			}
		}
	}
	return &index{tools: tools, parts: parts, average: max(total/max(float64(len(tools)), 1), 1)}
}

// makeIndex makes an index of one new segment. Derived catalogs use filter and
// extend, which share it.
func makeIndex(tools []*Tool) *index {
	return newIndex(tools, []part{{segment: makeSegment(tools)}})
}

// filter returns the index of the tools in kept, which are some of ix in order.
//
// It costs one pass over the numbers of tools; no text is read again.
func (ix *index) filter(kept []*Tool) *index {
	numbers := make([]int32, len(ix.tools)) // by number in ix
	next := int32(0)
	for i, t := range ix.tools {
		numbers[i] = -1
		if int(next) < len(kept) && kept[next] == t {
			numbers[i] = next
			next++
		}
	}
	parts := make([]part, len(ix.parts))
	for i, p := range ix.parts {
		parts[i] = part{segment: p.segment, numbers: make([]int32, len(p.lengths))}
		for tool := range parts[i].numbers {
			if n := p.number(int32(tool)); n >= 0 {
				n = numbers[n]
				parts[i].numbers[tool] = n
			} else {
				parts[i].numbers[tool] = -1
			}
		}
	}
	return newIndex(kept, parts)
}

// extend returns the index of tools. The first of them are the tools of ix.
//
// Only the added tools are indexed.
func (ix *index) extend(tools []*Tool) *index {
	more := part{segment: makeSegment(tools[len(ix.tools):]), first: int32(len(ix.tools))}
	return newIndex(tools, append(slices.Clip(ix.parts), more))
}

// exact returns the tools that have a key, in order.
func (ix *index) exact(key string) []int32 {
	var found []int32
	for _, p := range ix.parts {
		for _, tool := range p.segment.exact[key] {
			if n := p.number(tool); n >= 0 {
				found = append(found, n)
			}
		}
	}
	return found
}

// having counts the tools that have a term.
func (ix *index) having(term string) int {
	count := 0
	for i := range ix.parts {
		p := &ix.parts[i]
		list := p.terms[term]
		if p.numbers == nil {
			count += len(list)
			continue
		}
		for _, posting := range list {
			if p.numbers[posting.tool] >= 0 {
				count++
			}
		}
	}
	return count
}

// completions returns up to most terms that start with a word, in order.
func (ix *index) completions(word string, most int) []string {
	var found []string
	for _, p := range ix.parts {
		mine := 0
		for i := sort.SearchStrings(p.sorted, word); i < len(p.sorted) && mine < most && strings.HasPrefix(p.sorted[i], word); i++ {
			if term := p.sorted[i]; ix.having(term) > 0 {
				found = append(found, term)
				mine++
			}
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(most, len(found))]
}

// near returns the terms that a word may be a slip of, in order: they start with the
// same character and differ in one, or two of long words.
func (ix *index) near(word string) []string {
	const short, long = 4, 8
	if len(word) < short || len(word) > text.MaxCompared {
		return nil
	}
	slips := 1
	if len(word) >= long {
		slips = 2
	}
	var found []string
	for _, term := range ix.alike(word, slips) {
		if len(found) < maxExpansions && text.EditDistance(word, term, slips) <= slips {
			found = append(found, term)
		}
	}
	return found
}

// alike returns the terms with the first character of a word and about its length, in
// order. There is a most, so that the words of a hostile catalog cost no more. What is
// beyond it depends on the tools alone, not on the parts that they are in.
func (ix *index) alike(word string, slips int) []string {
	const most = 2000
	_, first := utf8.DecodeRuneInString(word)
	var found []string
	for _, p := range ix.parts {
		mine := 0
		for i := sort.SearchStrings(p.sorted, word[:first]); i < len(p.sorted) && mine < most && strings.HasPrefix(p.sorted[i], word[:first]); i++ {
			term := p.sorted[i]
			if len(term) >= len(word)-slips && len(term) <= len(word)+slips && ix.has(term) {
				found = append(found, term)
				mine++
			}
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	return found[:min(len(found), most)]
}

// has reports whether a tool has a term.
func (ix *index) has(term string) bool {
	for i := range ix.parts {
		p := &ix.parts[i]
		for _, posting := range p.terms[term] {
			if p.number(posting.tool) >= 0 {
				return true
			}
		}
	}
	return false
}

// rarity is what a term is worth that so many tools have.
func (ix *index) rarity(having int) float64 {
	n, have := float64(len(ix.tools)), float64(having)
	return math.Log(1 + (n-have+0.5)/(have+0.5))
}

// add notes what a term is worth to each tool that has it, where that is more than what
// is noted there. It is false if no tool has the term.
func (ix *index) add(term string, weight float64, s *scores) bool {
	having := ix.having(term)
	if having == 0 {
		return false
	}
	rarity := weight * ix.rarity(having)
	for i := range ix.parts {
		p := &ix.parts[i]
		for _, posting := range p.terms[term] {
			tool := p.number(posting.tool)
			if tool < 0 {
				continue
			}
			count := float64(posting.count)
			norm := bm25K1 * (1 - bm25B + bm25B*float64(p.lengths[posting.tool])/ix.average)
			worth := rarity * count * (bm25K1 + 1) / (count + norm)
			if s.of[tool] == 0 {
				s.touched = append(s.touched, tool)
			}
			s.of[tool] = max(s.of[tool], worth)
		}
	}
	return true
}

// Bounds of what a query may cost.
const (
	maxQueryBytes = 2 << 10 // the rest is not looked at
	maxQueryTerms = 48      // further words are not looked at
	maxExpansions = 16      // words tried for one that is given in part
	maxMisspelt   = 3       // words that are tried as misspelt ones
)

// scores are the scores of an index's tools. Touched are the tools that have a score.
type scores struct {
	of      []float64
	touched []int32
}

func newScores(tools int) scores { return scores{of: make([]float64, tools)} }
