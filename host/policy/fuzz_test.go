package policy

import (
	"regexp"
	"strings"
	"testing"
)

// reference is what a glob means, said with a regular expression.
func reference(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A(?s:`)
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			b.WriteString(regexp.QuoteMeta(string(r)))
			escaped = false
		case r == '\\':
			escaped = true
		case r == '*':
			b.WriteString(".*")
		case r == '?':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	b.WriteString(`)\z`)
	return regexp.MustCompile(b.String())
}

// FuzzPattern: no pattern makes the parser or the matcher fail, and a pattern
// that is accepted matches what it says, no more and no less.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"exec", "*", "a*b*c", "??", `\*`, "owner:c*", "quoin:*:x", "source:mcp", "name:a:b", "***a***b", "é*", `a\`, ":", "\xff"} {
		f.Add(p, "quoin", "core", "exec")
		f.Add(p, "mcp", "calendar", "aXbYc")
	}
	f.Fuzz(func(t *testing.T, text, source, owner, name string) {
		source = sources[len(source)%len(sources)]
		// As long as the catalog takes them.
		owner, name = owner[:min(len(owner), 256)], name[:min(len(name), 256)]
		owner, name = strings.ToValidUTF8(owner, "_"), strings.ToValidUTF8(name, "_")
		owner = strings.ReplaceAll(owner, ":", "_")
		l, err := Rules{Deny: []string{text}}.Compile()
		if err != nil {
			return
		}
		want := false
		head, rest, divided := strings.Cut(text, ":")
		switch {
		case !divided:
			want = reference(text).MatchString(name)
		case head == "name":
			want = reference(rest).MatchString(name)
		case head == "owner":
			want = reference(rest).MatchString(owner)
		case head == "source":
			want = rest == source
		default:
			o, n, _ := strings.Cut(rest, ":")
			want = (head == "*" || head == source) && reference(o).MatchString(owner) && reference(n).MatchString(name)
		}
		if got := !(Layers{l}).Allows(Tool{source, owner, name}); got != want {
			t.Errorf("%q on %s:%s:%s: matches is %v, want %v", text, source, owner, name, got, want)
		}
	})
}
