package catalog

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
)

// Bounds of what a query may cost.
const (
	maxQueryBytes = 2 << 10 // the rest is not looked at
	maxQueryTerms = 48      // further words are not looked at
	maxExpansions = 16      // words tried for one that is given in part
)

// expansionWeight is how much a word counts that the query gives only in part.
const expansionWeight = 0.5

// Limit reads the limit from a guest's search options, a JSON object or null:
// the default if it is absent or no number, at most the maximum. It fails with
// InvalidLimit if it is a number but no positive integer.
//
// A limit above the maximum is lowered without an error: a program gets as many
// results as there can be.
func (c *Catalog) Limit(options json.RawMessage) (int, error) {
	var given struct {
		Limit any `json:"limit"`
	}
	if len(options) > 0 {
		if err := json.Unmarshal(options, &given); err != nil {
			return 0, &Error{Code: InvalidLimit, Message: "search options must be an object such as { limit: 8 }.", Err: err}
		}
	}
	limit, isNumber := given.Limit.(float64)
	if !isNumber {
		return c.options.DefaultLimit, nil
	}
	if limit < 1 || limit != math.Trunc(limit) {
		return 0, &Error{Code: InvalidLimit, Message: "limit must be a positive integer."}
	}
	return int(min(limit, float64(c.options.MaxLimit))), nil
}

// Search returns the entries that fit a query best, best first, those of MCP tools
// included. Tools named outright, by id or name in any case, come first;
// the others are ranked by BM25 over name, label, owner, description, and the
// names and descriptions of parameters, English words by their stems. A word
// no tool has is tried as the start of one. Equals stand in catalog order.
// A blank query finds all tools, in catalog order.
//
// A limit that is not positive means Options.DefaultLimit; one above
// Options.MaxLimit is lowered to it. The result is never nil.
func (c *Catalog) Search(query string, limit int) []Entry {
	if limit <= 0 {
		limit = c.options.DefaultLimit
	}
	limit = min(limit, c.options.MaxLimit)
	query = strings.TrimSpace(query)
	if query == "" {
		return entries(c.tools[:min(limit, len(c.tools))])
	}
	ix := c.index()
	found := ix.named(query)
	found = found[:min(limit, len(found))]
	found = append(found, ix.rank(query, found, limit-len(found))...)
	tools := make([]*Tool, len(found))
	for i, n := range found {
		tools[i] = ix.tools[n]
	}
	return entries(tools)
}

// named returns the tools that a query names outright, those that are written as
// it is before those that only have it as their safe name or in another case.
func (ix *index) named(query string) []int32 {
	found := ix.exact(strings.ToLower(query))
	slices.SortStableFunc(found, func(a, b int32) int { return ix.tools[a].apart(query) - ix.tools[b].apart(query) })
	return found
}

// apart says how far the name of a tool is from a query that names it.
func (t *Tool) apart(query string) int {
	switch {
	case t.Name == query || t.ID() == query:
		return 0
	case SafeName(t.Name) == query:
		return 1
	case strings.EqualFold(t.Name, query) || strings.EqualFold(t.ID(), query):
		return 2
	}
	return 3
}

// rank returns the numbers of the best tools, best first, without those in except.
func (ix *index) rank(query string, except []int32, limit int) []int32 {
	if limit <= 0 {
		return nil
	}
	scores := make([]float64, len(ix.tools))
	var touched []int32
	for _, term := range queryTerms(query) {
		touched = ix.score(term, scores, touched)
	}
	best := make([]int32, 0, limit+1)
	for _, n := range touched {
		if slices.Contains(except, n) {
			continue
		}
		// touched is not in order of tools, so equals are ordered here.
		at := sort.Search(len(best), func(i int) bool {
			other := best[i]
			return scores[other] < scores[n] || scores[other] == scores[n] && other > n
		})
		if at == limit {
			continue
		}
		best = slices.Insert(best, at, n)
		best = best[:min(len(best), limit)]
	}
	return best
}

// queryTerms returns the stems of a query's words, each once. Stop words are
// left out unless there is nothing else.
func queryTerms(query string) []string {
	query = text.Cut(query, maxQueryBytes)
	var terms, stops []string
	eachWord(query, func(word string) {
		list := &terms
		if isStopWord(word) {
			list = &stops
		}
		if term := stem(word); len(*list) < maxQueryTerms && !slices.Contains(*list, term) {
			*list = append(*list, term)
		}
	})
	if len(terms) == 0 {
		return stops
	}
	return terms
}

// score adds the weight of a term, or of the terms that start with it.
func (ix *index) score(term string, scores []float64, touched []int32) []int32 {
	if ix.having(term) > 0 {
		return ix.add(term, 1, scores, touched)
	}
	const shortest = 3
	if len(term) < shortest {
		return touched
	}
	for _, completion := range ix.completions(term, maxExpansions) {
		touched = ix.add(completion, expansionWeight, scores, touched)
	}
	return touched
}
