package catalog

import (
	"math"
	"slices"
	"sort"
	"strings"
)

// BM25's parameters: how soon repetition stops counting, and how much a long
// text is held against a tool.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// index is what a catalog searches: segments, of each the tools that the catalog
// has. Its figures are those of the catalog's own tools alone, so that equal sets
// of tools are ranked equally however their catalogs came about, and nothing of
// a tool that was left out shows.
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

// extend returns the index of tools, whose first ones are those of ix.
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

// add adds what a term is worth to the scores of the tools that have it, and
// appends the tools that had no score yet to touched.
func (ix *index) add(term string, weight float64, scores []float64, touched []int32) []int32 {
	n, have := float64(len(ix.tools)), float64(ix.having(term))
	rarity := weight * math.Log(1+(n-have+0.5)/(have+0.5))
	for i := range ix.parts {
		p := &ix.parts[i]
		for _, posting := range p.terms[term] {
			tool := p.number(posting.tool)
			if tool < 0 {
				continue
			}
			count := float64(posting.count)
			norm := bm25K1 * (1 - bm25B + bm25B*float64(p.lengths[posting.tool])/ix.average)
			if scores[tool] == 0 {
				touched = append(touched, tool)
			}
			scores[tool] += rarity * count * (bm25K1 + 1) / (count + norm)
		}
	}
	return touched
}
