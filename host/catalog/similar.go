package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/internal/text"
)

// maxSuggestions is how many tools an error offers instead.
const maxSuggestions = 3

// similar returns the tools a guest may have meant by a name that is no
// tool's, best first.
//
// An id with the wrong owner is compared by its name as well, since models
// remember names better than owners.
func (c *Catalog) similar(wanted string) []*Tool {
	if wanted == "" || len(wanted) > text.MaxCompared {
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
		d, ok := text.Distance(name, strings.ToLower(t.Name))
		if isID && ok {
			d += wrongOwner
			if byID, ok := text.Distance(folded, strings.ToLower(t.ID())); ok {
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

// wrongOwner is how far apart two ids are when only their names are alike.
const wrongOwner = 8

// cutLast cuts s at the last separator; without one, all of s is after it.
func cutLast(s, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(s, separator); i >= 0 {
		return s[:i], s[i+len(separator):], true
	}
	return "", s, false
}
