package catalog

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed synonyms.txt
var synonymText string

// synonyms maps the stem of a word to the stems that a search tries as well, best
// first. It is made on first use and never changed.
var synonyms = sync.OnceValue(func() map[string][]string { return parseSynonyms(synonymText) })

// parseSynonyms reads lines of words that stand for each other, and lines "words > words",
// where only the left side stands for the right side.
func parseSynonyms(text string) map[string][]string {
	all := map[string][]string{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		left, right, directed := strings.Cut(line, ">")
		from := stems(left)
		to := from
		if directed {
			to = stems(right)
		}
		for _, word := range from {
			for _, other := range to {
				if other != word && !slices.Contains(all[word], other) {
					all[word] = append(all[word], other)
				}
			}
		}
	}
	return all
}

func stems(words string) []string {
	list := strings.Fields(words)
	for i := range list {
		list[i] = stem(list[i])
	}
	return list
}
