package catalog

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
)

// How much a word counts that the query does not have itself.
const (
	expansionWeight = 0.5 // it is given only in part
	misspeltWeight  = 0.5
	synonymWeight   = 0.6
)

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

// Search returns the entries that fit a query best, best first, MCP tools included. Tools
// named outright, by id or name in any case, come first; the others are ranked by BM25 over
// name, label, owner, description, and the names and descriptions of parameters, English words
// by their stems. Words that mean the same count less than the word itself. A word no tool has
// is tried as the start of one, and then as a misspelt one. Equals stand in catalog order. A
// blank query finds all tools, in catalog order.
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
	r := ranking{ix: ix, total: newScores(len(ix.tools)), word: newScores(len(ix.tools)), words: make([]uint8, len(ix.tools)), misspelt: maxMisspelt}
	r.score(query)
	scores := r.total.of
	best := make([]int32, 0, limit+1)
	for _, n := range r.total.touched {
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

// ranking is a search while it runs.
type ranking struct {
	ix       *index
	total    scores
	word     scores  // for the word at hand
	words    []uint8 // how many words of the query each tool has
	misspelt int     // words that may still be tried as misspelt ones
}

// score ranks the tools for a query. The more of its words a tool has, the likelier the
// tool is meant: half of its score is for that.
func (r *ranking) score(query string) {
	const alone = 0.5
	terms := queryTerms(query)
	for _, term := range terms {
		r.add(term)
	}
	for _, n := range r.total.touched {
		r.total.of[n] *= alone + (1-alone)*float64(r.words[n])/float64(len(terms))
	}
}

// add adds what a word of the query is worth to each tool: the most that the word
// itself, or one in its place, is worth there. A tool does not gain by having many
// words for one thing.
func (r *ranking) add(word string) {
	known := r.ix.add(word, r.weight(word), &r.word)
	for _, other := range synonyms()[word] {
		known = r.ix.add(other, synonymWeight, &r.word) || known
	}
	if !known {
		r.guess(word)
	}
	for _, n := range r.word.touched {
		if r.total.of[n] == 0 {
			r.total.touched = append(r.total.touched, n)
		}
		r.total.of[n] += r.word.of[n]
		r.words[n]++
		r.word.of[n] = 0
	}
	r.word.touched = r.word.touched[:0]
}

// weight is how much a word itself counts. A rare word for a common thing counts less
// than a rare thing: the mean of what is rare about the word and about what it stands for.
func (r *ranking) weight(word string) float64 {
	own := r.ix.having(word)
	most := own
	for _, other := range synonyms()[word] {
		most = max(most, r.ix.having(other))
	}
	if own == 0 || own == most {
		return 1
	}
	return (1 + r.ix.rarity(most)/r.ix.rarity(own)) / 2
}

// guess scores the words that an unknown one may be the start of, or else those that
// it may be a slip of.
func (r *ranking) guess(word string) {
	const shortest = 3
	if len(word) < shortest {
		return
	}
	known := false
	for _, completion := range r.ix.completions(word, maxExpansions) {
		known = r.ix.add(completion, expansionWeight, &r.word) || known
	}
	if known || r.misspelt == 0 {
		return
	}
	r.misspelt--
	for _, near := range r.ix.near(word) {
		r.ix.add(near, misspeltWeight, &r.word)
	}
}

// queryTerms returns the stems of a query's words, each once. Stop words are
// left out unless there is nothing else. A word with hyphens is also taken without
// them: "to-do" is "todo".
func queryTerms(query string) []string {
	query = text.Cut(query, maxQueryBytes)
	var terms, stops []string
	keep := func(list *[]string, word string) {
		if term := stem(word); len(*list) < maxQueryTerms && !slices.Contains(*list, term) {
			*list = append(*list, term)
		}
	}
	eachWord(query, func(word string) {
		if isStopWord(word) {
			keep(&stops, word)
		} else {
			keep(&terms, word)
		}
	})
	for word := range strings.FieldsSeq(query) {
		if whole := strings.ReplaceAll(strings.ToLower(word), "-", ""); len(whole) < len(word) && len(whole) <= maxWordBytes {
			eachWord(whole, func(word string) { keep(&terms, word) })
		}
	}
	if len(terms) == 0 {
		return stops
	}
	return terms
}
