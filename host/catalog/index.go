package catalog

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/jsonschema"
	"github.com/quoinhq/quoin/internal/text"
)

// textField is a part of a tool that is searched.
type textField uint8

const (
	nameField textField = iota
	labelField
	ownerField
	descriptionField
	paramNameField
	paramTextField
)

// fieldWeights say how much a word counts in each field. Multiples of one
// half keep the sums exact, so that their order does not matter.
var fieldWeights = [...]float32{
	nameField: 4, labelField: 2.5, ownerField: 1, descriptionField: 1.5, paramNameField: 1, paramTextField: 0.5,
}

// segment is the inverted index of some tools, numbered in catalog order. It is
// immutable, and the catalogs derived from one share its segments.
type segment struct {
	// terms maps a stem to the tools that have it.
	terms map[string][]posting
	// sorted are the stems in order, for words given in part.
	sorted []string
	// exact maps names, safe names and ids in lower case to their tools.
	exact map[string][]int32
	// lengths are the weighted lengths of the tools' texts.
	lengths []float32
}

// posting is one tool that has a term, and the weighted count of it there.
type posting struct {
	tool  int32
	count float32
}

// indexer gathers what makeIndex needs to know of all tools.
type indexer struct {
	numbers map[string]int32 // word as written -> term number
	terms   []string         // stem of each term
	stems   map[string]int32 // stem -> term number
	counts  [][]posting      // by term
	lengths []float32        // weighted length of each tool's text
}

// makeSegment indexes tools, which must be in catalog order. Its cost is linear
// in the text of the tools.
func makeSegment(tools []*Tool) *segment {
	in := indexer{numbers: map[string]int32{}, stems: map[string]int32{}, lengths: make([]float32, len(tools))}
	s := &segment{exact: make(map[string][]int32, 2*len(tools))}
	for i, t := range tools {
		in.add(int32(i), t)
		for _, key := range exactKeys(t) {
			s.exact[key] = append(s.exact[key], int32(i))
		}
	}
	s.terms = make(map[string][]posting, len(in.terms))
	for n, term := range in.terms {
		s.terms[term] = in.counts[n]
	}
	s.sorted = slices.Sorted(slices.Values(in.terms))
	s.lengths = in.lengths
	return s
}

// exactKeys are the spellings by which a query names a tool outright.
func exactKeys(t *Tool) []string {
	keys := []string{strings.ToLower(t.ID()), strings.ToLower(t.Name), strings.ToLower(SafeName(t.Name))}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// add counts the words of one tool.
func (in *indexer) add(tool int32, t *Tool) {
	in.text(tool, nameField, t.Name)
	if whole := strings.ToLower(text.Letters(t.Name)); len(whole) <= maxWordBytes && whole != strings.ToLower(t.Name) {
		in.word(tool, nameField, whole)
	}
	in.text(tool, labelField, t.Label)
	if !t.core() {
		in.text(tool, ownerField, t.Owner)
	}
	in.text(tool, descriptionField, t.Description)
	in.parameters(tool, t.Parameters)
}

// text counts the words of a text in one field of a tool.
func (in *indexer) text(tool int32, f textField, text string) {
	eachWord(text, func(w string) { in.word(tool, f, w) })
}

// word counts one word. Stop words count in names only, where they may be all
// there is.
func (in *indexer) word(tool int32, f textField, word string) {
	if f != nameField && isStopWord(word) {
		return
	}
	n, known := in.numbers[word]
	if !known {
		stemmed := stem(word)
		if n, known = in.stems[stemmed]; !known {
			n = int32(len(in.terms))
			in.terms = append(in.terms, stemmed)
			in.stems[stemmed] = n
			in.counts = append(in.counts, nil)
		}
		in.numbers[strings.Clone(word)] = n
	}
	list := in.counts[n]
	if len(list) == 0 || list[len(list)-1].tool != tool {
		list = append(list, posting{tool: tool})
	}
	list[len(list)-1].count += fieldWeights[f]
	in.counts[n] = list
	in.lengths[tool] += fieldWeights[f]
}

// maxIndexedSchema is the size in bytes from which a schema is not searched.
const maxIndexedSchema = 64 << 10

// parameters counts the names and descriptions of the parameters. What is no schema
// is not searched; it is reported when the tool is described or called.
func (in *indexer) parameters(tool int32, schema json.RawMessage) {
	if len(schema) <= maxIndexedSchema {
		in.schema(tool, jsonschema.Parse(schema).Root(), 0)
	}
}

// schema counts what a schema says at up to four levels. Deeper properties are
// rarely what a query means, and a hostile schema could otherwise fill the index.
func (in *indexer) schema(tool int32, s *jsonschema.Node, depth int) {
	const deepest = 4
	if depth > deepest {
		return
	}
	in.text(tool, paramTextField, s.Get("description").Str())
	for _, p := range s.Get("properties").Fields() {
		in.text(tool, paramNameField, p.Key)
		in.schema(tool, p.Value, depth+1)
	}
	in.schema(tool, s.Get("items"), depth+1)
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		for _, branch := range s.Get(keyword).List() {
			in.schema(tool, branch, depth+1)
		}
	}
}
