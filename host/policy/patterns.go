package policy

import "slices"

// Patterns choose tools, with the patterns of [Rules]. The zero value chooses
// none.
type Patterns []pattern

// ParsePatterns reads patterns; it fails with a *PatternError that names the
// first bad one.
func ParsePatterns(field string, texts []string) (Patterns, error) { return parseAll(field, texts) }

// Match reports whether one of the patterns matches the tool.
func (ps Patterns) Match(t Tool) bool {
	return slices.ContainsFunc(ps, func(p pattern) bool { return p.match(t) })
}
