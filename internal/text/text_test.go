package text_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quoinhq/quoin/internal/text"
)

func TestCut(t *testing.T) {
	for _, test := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"abc", -1, ""},
		{"aé", 2, "a"}, {"aé", 3, "aé"}, {"日本", 5, "日"}, {"日本", 2, ""}, {"😀", 3, ""}, {"x😀", 4, "x"},
		{"a\x80\x80\x80\x80\x80b", 4, "a\x80\x80\x80"}, {"\x80\x80\x80\x80\x80\x80", 5, "\x80\x80\x80\x80\x80"},
	} {
		if got := text.Cut(test.s, test.n); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.s, test.n, got, test.want)
		}
	}
}

// TestShorten: the mark counts, so that the limit is one.
func TestShorten(t *testing.T) {
	for _, test := range []struct {
		s    string
		n    int
		want string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdefg", 6, "abc…"}, {"aéé", 4, "a…"}, {"abcd", 3, "…"}, {"", 0, ""},
	} {
		if got := text.Shorten(test.s, test.n); got != test.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", test.s, test.n, got, test.want)
		}
	}
}

func FuzzShorten(f *testing.F) {
	f.Add("日本語 text", 5)
	f.Add("\x80\x80\x80\x80", 3)
	f.Add("", -1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		cut := text.Cut(s, n)
		if !strings.HasPrefix(s, cut) || len(cut) > max(n, 0) || utf8.ValidString(s) && !utf8.ValidString(cut) {
			t.Errorf("Cut(%q, %d) = %q", s, n, cut)
		}
		if len(s) > len(cut) && n >= 0 && len(cut) < n-utf8.UTFMax+1 {
			t.Errorf("Cut(%q, %d) = %q is too short", s, n, cut)
		}
		if short := text.Shorten(s, n); len(short) > max(n, len("…")) || short != s && !strings.HasSuffix(short, "…") {
			t.Errorf("Shorten(%q, %d) = %q", s, n, short)
		}
	})
}

func TestPrintable(t *testing.T) {
	for s, want := range map[string]string{
		"plain é 日本 😀": "plain é 日本 😀", "a\nb\tc": "a\ufffdb\ufffdc", "\x1b[31mred": "\ufffd[31mred",
		"right\u202eleft": "right\ufffdleft", "\xff": "\ufffd", "zero\u200bwidth": "zero\ufffdwidth",
	} {
		if got := text.Printable(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
		if got := text.IsPrintable(s); got != (s == want) {
			t.Errorf("IsPrintable(%q) = %v", s, got)
		}
	}
}

func TestNearest(t *testing.T) {
	fields := []string{"name", "word", "words", "timeoutMs", "maxOutputBytes"}
	for wanted, want := range map[string][]string{
		"nam": {"name"}, "name": {}, "Name": {"name"}, "wrod": {"word"}, "timeout_ms": {"timeoutMs"}, "TIMEOUT-MS": {"timeoutMs"},
		"bytes_output_max": {}, "timeout": {"timeoutMs"}, "outputBytes": {"maxOutputBytes"}, "x": {}, "": nil, strings.Repeat("n", 129): nil,
	} {
		if got := text.Nearest(wanted, fields, 1); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", wanted, got, want)
		}
	}
	if got := text.Nearest("wordz", fields, 5); !slices.Equal(got, []string{"word", "words"}) {
		t.Errorf("got %q", got)
	}
	if got := text.Nearest("list issues", []string{"issues_list"}, 1); len(got) != 1 {
		t.Error("the same words in another order are not near")
	}
}

func TestEditDistance(t *testing.T) {
	for _, test := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 3, 0}, {"abc", "abc", 3, 0}, {"abc", "abd", 3, 1}, {"abc", "acb", 3, 1}, {"abc", "ab", 3, 1}, {"ab", "abc", 3, 1},
		{"kitten", "sitting", 5, 3}, {"abc", "xyz", 1, 2}, {"a", "abcdef", 2, 3}, {"", "ab", 2, 2}, {"", "", 0, 0},
	} {
		if got := text.EditDistance(test.a, test.b, test.limit); got != test.want {
			t.Errorf("%q, %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestList(t *testing.T) {
	names := []string{"one", "two", "three"}
	for n, want := range map[int]string{0: "", 2: "", 3: "…", 7: "…", 8: "one, …", 12: "one, …", 13: "one, two, …", 14: "one, two, …", 15: "one, two, three", 99: "one, two, three", -1: ""} {
		if got := text.List(names, n); got != want || len(got) > max(n, 0) {
			t.Errorf("in %d bytes: %q, want %q", n, got, want)
		}
	}
	if got := text.List(nil, 0); got != "" {
		t.Errorf("no names: %q", got)
	}
}

func TestGroups(t *testing.T) {
	groups := []text.Group{{Name: "issues", Parts: []string{"list", "get", "close"}, Count: 3}, {Name: "webbrowser", Note: ", resources", Parts: []string{strings.Repeat("x", 90), "b"}, Count: 7}}
	rest := func(n int) string { return fmt.Sprintf("and %d more", n) }
	for n, want := range map[int]string{
		128: "- issues (3): list, get, close\n- webbrowser (7, resources): …",
		111: "issues (3), webbrowser (7)",
		24:  "issues (3), and 1 more",
		10:  "and 2 more",
	} {
		if got := text.Groups(groups, n, rest); got != want || len(got) > n {
			t.Errorf("in %d bytes: %q, want %q", n, got, want)
		}
	}
	if got := text.Groups(nil, 100, rest); got != "" {
		t.Errorf("no groups: %q", got)
	}
}
