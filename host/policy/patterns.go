package policy

import "slices"

// Patterns choose tools, with the patterns of [Rules]. The zero value chooses
// no tools.
type Patterns []pattern

// ParsePatterns reads patterns; it fails with a *PatternError that names the
// first bad one.
func ParsePatterns(field string, texts []string) (Patterns, error) { return parseAll(field, texts) }

// Match reports whether one of the patterns matches the tool.
func (ps Patterns) Match(t Tool) bool {
	return slices.ContainsFunc(ps, func(p pattern) bool { return p.match(t) })
}

// PatternScope says what one pattern is about, for those who look for patterns that are
// about nothing.
type PatternScope struct{ p pattern }

// ParsePatternScope reads a pattern; ok is false for one that means nothing.
func ParsePatternScope(text string) (b PatternScope, ok bool) {
	p, want := parse(text)
	return PatternScope{p}, want == ""
}

// Match reports whether the pattern matches the tool.
func (b PatternScope) Match(t Tool) bool { return b.p.match(t) }

// NamesOwner reports whether the pattern names an owner or a source.
func (b PatternScope) NamesOwner() bool { return b.p.source != nil || b.p.owner != nil }

// Owns reports whether the pattern can be about a tool of that owner.
func (b PatternScope) Owns(source, owner string) bool {
	return b.p.source.match(source) && b.p.owner.match(owner)
}
