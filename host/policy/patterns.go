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

// Bearing says what one pattern is about, for those who look for patterns that are
// about nothing.
type Bearing struct{ p pattern }

// BearingOf reads a pattern; ok is false for one that means nothing.
func BearingOf(text string) (b Bearing, ok bool) {
	p, want := parse(text)
	return Bearing{p}, want == ""
}

// Match reports whether the pattern matches the tool.
func (b Bearing) Match(t Tool) bool { return b.p.match(t) }

// NamesOwner reports whether the pattern says whose tools it is about.
func (b Bearing) NamesOwner() bool { return b.p.source != nil || b.p.owner != nil }

// Owns reports whether the pattern can be about a tool of that owner.
func (b Bearing) Owns(source, owner string) bool {
	return b.p.source.match(source) && b.p.owner.match(owner)
}
