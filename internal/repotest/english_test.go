package repotest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// banned are words and phrases that comments, messages and documents do without,
// each with what to write in its place.
var banned = []struct{ pattern, instead string }{
	{`nobody`, `"no one", or name who does not`},
	{`whoever|whomever`, `"the caller", "the user", or "who"`},
	{`somebody|anybody`, `name who it is: a user, a caller, a reader`},
	{`anew`, `"again", or a verb with "re-"`},
	{`beside`, `"next to", "besides", or "with"`},
	{`of which`, `"with", or a second sentence that says the noun again`},
	{`(?:is|are|was|were) none`, `"has no", "is not a", or "does not exist"`},
	{`begin|begins|began|begun|beginning`, `"start"`},
}

// phrase is one banned pattern, ready to search with.
type phrase struct {
	re      *regexp.Regexp
	instead string
}

func phrases() []phrase {
	var all []phrase
	for _, b := range banned {
		all = append(all, phrase{regexp.MustCompile(`(?i)(?:^|[^\w./-])(?:` + b.pattern + `)(?:[^\w/-]|$)`), b.instead})
	}
	// A sentence that starts with "Of" puts its subject last.
	return append(all, phrase{regexp.MustCompile(`(?:^|[.:;!?]\s+)Of\s`), `the subject at the start of the sentence`})
}

// passage is a stretch of English with the place where it stands.
type passage struct {
	file string
	line int
	kind string // "comment", "message" or "document"
	text string
}

// quoted is what a passage names rather than says: code, and texts in quotes.
var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|“[^”]*”|BEGIN IMMEDIATE")

// documented is the name that a doc comment starts with, if it is not exported.
var documented = regexp.MustCompile(`^(?:begin|nobody) `)

// faults says what is wrong with a passage.
func (p passage) faults(rules []phrase) []string {
	var all []string
	text := quoted.ReplaceAllString(p.text, "`x`")
	for _, r := range rules {
		for _, at := range r.re.FindAllStringIndex(text, -1) {
			line, hit := p.line+strings.Count(text[:at[0]+1], "\n"), strings.Trim(text[at[0]:at[1]], " .,:;()\n")
			all = append(all, fmt.Sprintf("%s:%d: %s: avoid %q: write %s", p.file, line, p.kind, hit, r.instead))
		}
	}
	return all
}

// passages returns the comments of every Go file, the messages of production code,
// and the prose of every document.
func passages(t *testing.T) []passage {
	t.Helper()
	var all []passage
	for _, file := range sources(t, ".go") {
		if strings.Contains("/"+file, "/testdata/") {
			continue
		}
		all = append(all, goPassages(t, file)...)
	}
	for name, text := range pages(t) {
		all = append(all, documentPassages(name, text)...)
	}
	return all
}

func goPassages(t *testing.T, file string) []passage {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, filepath.Join(root, file), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(parsed) {
		return nil
	}
	var all []passage
	for _, group := range parsed.Comments {
		if text := documented.ReplaceAllString(group.Text(), ""); !strings.HasPrefix(text, "Output:") {
			all = append(all, passage{file, files.Position(group.Pos()).Line, "comment", withoutCode(text)})
		}
	}
	if strings.HasSuffix(file, "_test.go") {
		return all
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field: // its tag is no message
			ast.Inspect(n.Type, func(ast.Node) bool { return true })
			return n.Tag == nil
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.Contains(text, " ") {
				all = append(all, passage{file, files.Position(n.Pos()).Line, "message", text})
			}
		}
		return true
	})
	return all
}

// withoutCode drops the indented lines of a comment, which are code or a list's
// continuation.
func withoutCode(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "\t") {
			kept = append(kept, strings.TrimSuffix(line, "\n"))
		}
	}
	return strings.Join(kept, "\n")
}

// documentPassages returns the paragraphs of a document.
func documentPassages(name, text string) []passage {
	var all []passage
	paragraph := passage{file: name, kind: "document"}
	end := func() {
		if paragraph.text != "" {
			all = append(all, paragraph)
		}
		paragraph.text = ""
	}
	last := 0
	for _, l := range proseLines(text) {
		if strings.TrimSpace(l.text) == "" || l.number != last+1 || strings.HasPrefix(l.text, "|") || strings.HasPrefix(strings.TrimSpace(l.text), "- ") {
			end()
		}
		if paragraph.text == "" {
			paragraph.line = l.number
		}
		paragraph.text = strings.TrimSpace(paragraph.text + "\n" + l.text)
		last = l.number
	}
	end()
	return all
}

// TestPlainEnglish holds comments, messages and documents to the list of banned
// words, except in the directories that are still to be cleaned.
func TestPlainEnglish(t *testing.T) {
	rules := phrases()
	unclean := map[string]int{}
	for _, p := range passages(t) {
		dir := path.Dir(p.file)
		for _, fault := range p.faults(rules) {
			unclean[dir]++
			if !slices.Contains(stillToClean, dir) {
				t.Error(fault)
			}
		}
	}
	for _, dir := range stillToClean {
		if unclean[dir] == 0 {
			t.Errorf("%s is clean: remove it from stillToClean", dir)
		}
	}
	if os.Getenv("QUOIN_ENGLISH") != "" {
		for dir, n := range unclean {
			t.Logf("%4d %s", n, dir)
		}
	}
}

// maxNone is how often the comments of production code may say "none" in 10,000
// words. A comment is clearer when it says what is missing: "defaults to nil",
// "without a limit", "no plugin".
const maxNone = 1

// none is the word outside identifiers.
var none = regexp.MustCompile(`(?i)(?:^|[^\w./-])none(?:[^\w/-]|$)`)

// countNone counts the words in comments of production code, and lists the places of
// "none".
func countNone(all []passage) (words int, places []string) {
	for _, p := range all {
		if p.kind != "comment" || strings.HasSuffix(p.file, "_test.go") {
			continue
		}
		text := quoted.ReplaceAllString(p.text, "`x`")
		words += len(strings.Fields(text))
		for _, at := range none.FindAllStringIndex(text, -1) {
			places = append(places, fmt.Sprintf("%s:%d", p.file, p.line+strings.Count(text[:at[0]+1], "\n")))
		}
	}
	return words, places
}

// TestNone holds comments to a few uses of "none".
func TestNone(t *testing.T) {
	words, places := countNone(passages(t))
	if len(places)*10_000 > maxNone*words {
		t.Errorf("%d of %d words in comments are \"none\", more than %d in 10,000: say what is missing in some of\n%s",
			len(places), words, maxNone, strings.Join(places, "\n"))
	}
}

// TestCountNone checks which words count.
func TestCountNone(t *testing.T) {
	words, places := countNone([]passage{
		{"a.go", 4, "comment", "Defaults to none.\nNone is a constant, but this\nis none."},
		{"a.go", 9, "comment", "The value \"none\", `none` and paths.none stay."},
		{"a.go", 12, "message", "there is none"},
		{"a_test.go", 1, "comment", "none"},
		{"a.md", 1, "document", "none"},
	})
	if want := []string{"a.go:4", "a.go:5", "a.go:6"}; words != 18 || !slices.Equal(places, want) {
		t.Errorf("%d words, %q", words, places)
	}
}

// stillToClean are directories with banned words in their comments and messages.
var stillToClean = []string{}

// TestPassages checks what the rules find, and what they leave alone.
func TestPassages(t *testing.T) {
	rules := phrases()
	for text, want := range map[string]int{
		"Nobody calls it, and whoever does begins anew.":   4,
		"A tool, the name of which is long.":               1,
		"There is none. Of all tools, one stays.":          2,
		"It stands beside the\nothers.":                    1,
		"The value `none` and the text \"nobody\" remain.": 0,
		"Besides, begin-ok and x.begin are identifiers.":   0,
		"A list of tools, of whichever kind.":              0,
	} {
		if got := (passage{text: text}).faults(rules); len(got) != want {
			t.Errorf("%q: %d faults, want %d: %q", text, len(got), want, got)
		}
	}
}
