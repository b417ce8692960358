package repotest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pageWidth is how long a line of a document may be, outside of tables, code and
// generated parts.
const pageWidth = 120

// pages returns the documents of the repository by their slash-separated paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "testdata" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if rel, relErr := filepath.Rel(root, path); relErr == nil {
			all[filepath.ToSlash(rel)] = string(text)
		}
		return err
	})
	if err != nil || len(all) < 15 {
		t.Fatalf("found %d documents: %v", len(all), err)
	}
	return all
}

// pageLine is a line of a document that is neither code nor generated.
type pageLine struct {
	number int
	text   string
}

// proseLines returns the lines of a document outside of code blocks and generated
// parts.
func proseLines(text string) []pageLine {
	var out []pageLine
	code, generated := false, false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			code = !code
		case strings.HasPrefix(line, "<!-- generated:"):
			generated = true
		case line == "<!-- end -->":
			generated = false
		case !code && !generated:
			out = append(out, pageLine{i + 1, line})
		}
	}
	return out
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notAnchor  = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// anchorOf is the fragment that a heading has on a rendered page.
func anchorOf(heading string) string {
	heading = strings.ToLower(notAnchor.ReplaceAllString(strings.TrimSpace(heading), ""))
	return strings.ReplaceAll(heading, " ", "-")
}

func anchors(text string) map[string]bool {
	all := map[string]bool{}
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if title := strings.TrimLeft(line, "#"); !code && title != line {
			all[anchorOf(title)] = true
		}
	}
	return all
}

// TestLinks checks that every link between documents leads to a file, and every
// fragment to a heading.
func TestLinks(t *testing.T) {
	all := pages(t)
	for name, text := range all {
		for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "http:") || strings.HasPrefix(m[1], "https:") {
				continue
			}
			if err := checkLink(all, name, m[1]); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			}
		}
	}
}

func checkLink(all map[string]string, from, target string) error {
	file, fragment, _ := strings.Cut(target, "#")
	to := from
	if file != "" {
		to = filepath.ToSlash(filepath.Join(filepath.Dir(from), file))
	}
	if _, err := os.Stat(filepath.Join(root, to)); err != nil {
		return err
	}
	if fragment != "" && !anchors(all[to])[fragment] {
		return fmt.Errorf("%s has no heading of that name", to)
	}
	return nil
}

// namedPage is the path of a document in a source file.
var namedPage = regexp.MustCompile(`\bdocs/[a-z/-]+\.(?:md|svg)`)

// TestNamedDocumentsExist checks that every document which a comment, a message or
// a script names is there.
func TestNamedDocumentsExist(t *testing.T) {
	named := 0
	for _, file := range sources(t, ".go", ".txtar", ".proto", ".js", ".mjs", ".ts", "Makefile") {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range namedPage.FindAllString(string(text), -1) {
			named++
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("%s names %s: %v", file, name, err)
			}
		}
	}
	if named < 20 {
		t.Errorf("only %d documents are named", named)
	}
}

// sources returns the files of the repository with names that end in one of the
// given endings, without what is built or fetched.
func sources(t *testing.T, endings ...string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		rel, err := filepath.Rel(root, path)
		for _, end := range endings {
			if !d.IsDir() && strings.HasSuffix(path, end) {
				files = append(files, filepath.ToSlash(rel))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestLinesOfDocumentsWrap checks the width of lines outside of tables, code and
// generated parts.
func TestLinesOfDocumentsWrap(t *testing.T) {
	for name, text := range pages(t) {
		for _, l := range proseLines(text) {
			if n := len([]rune(l.text)); n > pageWidth && !strings.HasPrefix(l.text, "|") && !strings.HasPrefix(l.text, "![") && name != "CHANGELOG.md" {
				t.Errorf("%s:%d has %d columns, want %d or fewer", name, l.number, n, pageWidth)
			}
		}
	}
}

// TestIndexOfDocuments checks that docs/README.md links to every document below
// docs.
func TestIndexOfDocuments(t *testing.T) {
	all := pages(t)
	index := all["docs/README.md"]
	for name := range all {
		rel, ok := strings.CutPrefix(name, "docs/")
		if ok && rel != "README.md" && !strings.Contains(index, "]("+rel+")") {
			t.Errorf("docs/README.md does not link to %s", rel)
		}
	}
}
