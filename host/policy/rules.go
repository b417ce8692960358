package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Rules say which tools exist for a run. A tool exists if no pattern of Deny
// matches it and, unless Allow is nil, some pattern of Allow does. An Allow that is empty and
// not nil leaves nothing, and so does an Allow with patterns that match nothing. The zero
// value allows every tool.
//
// A pattern is one of
//
//	list_*                 a name
//	quoin:calendar:list_*  an id, <source>:<owner>:<name>
//	owner:calendar         every tool of an owner, whatever its source
//	source:mcp             every tool of a source: quoin, mcp or client
//	name:a:b               a name that has a ':' in it
//
// In names, owners and ids, "*" stands for zero or more characters, "?"
// for one character, and "\" takes away the meaning of the next. In an id, "*"
// stands for nothing beyond its own part, and the source may be "*" only as a
// whole. Patterns match the whole text and tell upper from lower case.
type Rules struct {
	Allow []string `json:"allow,omitzero"` // nil and empty differ
	Deny  []string `json:"deny,omitempty"`
}

// Empty reports whether r allows every tool.
func (r Rules) Empty() bool { return r.Allow == nil && len(r.Deny) == 0 }

// Tool is what rules know of a tool.
type Tool struct {
	Source, Owner, Name string
}

// PatternError is a pattern that means nothing.
type PatternError struct {
	// Field is the list and the place in it, such as "agents.scout.deny[2]".
	Field   string
	Pattern string
	// Want says what would be right.
	Want string
}

// Error says which pattern is wrong and what was expected.
func (e *PatternError) Error() string {
	return fmt.Sprintf("%s is %q: %s", e.Field, e.Pattern, e.Want)
}

// Layer is one compiled Rules. It is immutable and safe for concurrent use.
type Layer struct {
	allow, deny []pattern // allow is nil if everything is allowed
	key         string
}

// Compile checks every pattern; it fails with a *PatternError that names the
// first bad one. The layer of empty rules is nil.
func (r Rules) Compile() (*Layer, error) { return r.compile("") }

// compile parses all patterns. Field is the path of the rules in a configuration,
// for errors.
func (r Rules) compile(field string) (*Layer, error) {
	if r.Empty() {
		return nil, nil
	}
	allow, err := parseAll(field+"allow", r.Allow)
	if err != nil {
		return nil, err
	}
	deny, err := parseAll(field+"deny", r.Deny)
	if err != nil {
		return nil, err
	}
	return &Layer{allow: allow, deny: deny, key: r.digest()}, nil
}

// parseAll parses the patterns of one field and stops at the first bad one.
func parseAll(field string, patterns []string) ([]pattern, error) {
	if patterns == nil {
		return nil, nil
	}
	out := make([]pattern, 0, len(patterns))
	for i, text := range patterns {
		p, want := parse(text)
		if want != "" {
			return nil, &PatternError{Field: fmt.Sprintf("%s[%d]", field, i), Pattern: bounded(text), Want: want}
		}
		out = append(out, p)
	}
	return out, nil
}

// digest is equal for rules that allow the same tools because they say the same,
// in whatever order.
func (r Rules) digest() string {
	said := [3]any{r.Allow == nil, slices.Sorted(slices.Values(r.Allow)), slices.Sorted(slices.Values(r.Deny))}
	b, err := json.Marshal(said)
	if err != nil {
		panic("policy: strings cannot be encoded: " + err.Error()) // they always can
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// allows reports whether a tool passes one layer.
func (l *Layer) allows(t Tool) bool {
	matches := func(p pattern) bool { return p.match(t) }
	if slices.ContainsFunc(l.deny, matches) {
		return false
	}
	return l.allow == nil || slices.ContainsFunc(l.allow, matches)
}

// Layers are rules that hold together: a tool exists if it passes all of them,
// so that each can only narrow what the others leave. Without layers, all tools exist.
type Layers []*Layer

// Allows reports whether a tool exists.
func (ls Layers) Allows(t Tool) bool {
	return !slices.ContainsFunc(ls, func(l *Layer) bool { return !l.allows(t) })
}

// Key identifies what the layers say: equal keys allow equal tools. It is ""
// without layers.
func (ls Layers) Key() string {
	if len(ls) == 0 {
		return ""
	}
	keys := make([]string, len(ls))
	for i, l := range ls {
		keys[i] = l.key
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), "+")
}

// With returns the layers and one more, which may be nil.
func (ls Layers) With(l *Layer) Layers {
	if l == nil {
		return ls
	}
	return append(slices.Clip(ls), l)
}
