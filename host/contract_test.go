package host_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A row of docs/contract.md ends in the tests that prove its sentence, each in
// backquotes: the package's directory, a dot, the test, and below it perhaps the
// name of a case or of a script. The first cell may have bars, escaped as \|.
var (
	contractBar   = regexp.MustCompile(`(?:^|[^\\])\|`)
	contractTest  = regexp.MustCompile("^`([a-z0-9/]+)\\.((?:Test|Fuzz|Benchmark|Example)\\w*)(?:/([^`]+))?`$")
	namesSomeTest = regexp.MustCompile(`\w\.(?:Test|Fuzz|Benchmark|Example)[A-Z]`)
)

// provenBy is one test that a row names.
type provenBy struct{ dir, name, part string }

// contractRow reads one line of a table: nil for what is no row of it. Whatever is
// in the line must be a part of the sentence or a test: what is neither would be
// checked by nothing.
func contractRow(line string) ([]provenBy, error) {
	if !strings.HasPrefix(line, "|") || strings.Trim(line, "|-") == "" {
		return nil, nil
	}
	bars := contractBar.FindAllStringIndex(line, -1)
	if len(bars) != 3 || !strings.HasSuffix(line, "|") {
		return nil, fmt.Errorf("expected | sentence | tests |, got %d bars that are not escaped", len(bars))
	}
	sentence, proof := strings.TrimSpace(line[bars[0][1]:bars[1][1]-1]), strings.TrimSpace(line[bars[1][1]:bars[2][1]-1])
	switch {
	case proof == "proof": // the head
		return nil, nil
	case sentence == "":
		return nil, errors.New("there is no sentence")
	case namesSomeTest.MatchString(sentence):
		return nil, errors.New("a test is named in the sentence, where nothing checks it")
	}
	var tests []provenBy
	for one := range strings.SplitSeq(proof, ", `") {
		m := contractTest.FindStringSubmatch("`" + strings.TrimPrefix(one, "`"))
		if m == nil {
			return nil, fmt.Errorf("%q is no test in backquotes", one)
		}
		tests = append(tests, provenBy{m[1], m[2], m[3]})
	}
	return tests, nil
}

// TestContractDocument: every sentence of docs/contract.md names tests, and the
// tests exist.
func TestContractDocument(t *testing.T) {
	b, err := os.ReadFile("../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	rows := 0
	for i, line := range strings.Split(string(b), "\n") {
		tests, err := contractRow(line)
		if err != nil {
			t.Errorf("line %d: %v", i+1, err)
		}
		if len(tests) > 0 {
			rows++
		}
		for _, m := range tests {
			if _, ok := sources[m.dir]; !ok {
				sources[m.dir] = testSource(t, m.dir)
			}
			if !strings.Contains(sources[m.dir], "func "+m.name+"(") {
				t.Errorf("line %d: there is no %s in %s", i+1, m.name, m.dir)
			}
			if m.part != "" && !namesCase(sources[m.dir], m.dir, m.part) {
				t.Errorf("line %d: %s.%s has no case %q", i+1, m.dir, m.name, m.part)
			}
		}
	}
	if rows < 150 {
		t.Errorf("%d rows: is the document still read?", rows)
	}
}

// TestContractRows: no slip in a row hides a test from the check.
func TestContractRows(t *testing.T) {
	for line, want := range map[string][]provenBy{
		"text":                 nil,
		"| sentence | proof |": nil,
		"|---|---|":            nil,
		"| a | `host.TestA` |": {{"host", "TestA", ""}},
		`| a\|b | ` + "`host.TestA/x, y`, `a/b.FuzzB` |": {{"host", "TestA", "x, y"}, {"a/b", "FuzzB", ""}},
	} {
		if got, err := contractRow(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", line, got, err)
		}
	}
	for _, line := range []string{
		"| a \\| `host.TestA`, host.TestB; more | `host.TestC` |", // an escaped bar before the tests
		"| a `host.TestA` |", "| a | `host.TestA`", "| a | b | `host.TestA` |", "| a | `host.TestA` | `host.TestB` |", "| | `host.TestA` |",
		"| a | |", "| a | host.TestA |", "| a | `host.TestA` and more |", "| a | `host.TestA`; `host.TestB` |", "| a | `host.TestA`, host.TestB |",
		"| a | `host.TestA` \\| `host.TestB` |", "| a | `TestA` |",
	} {
		if got, err := contractRow(line); err == nil {
			t.Errorf("%s: accepted with %v", line, got)
		}
	}
}

// testSource is all test code of a directory of the module.
func testSource(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("%s has no tests (%v)", dir, err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// namesCase reports whether the tests of a directory have a case of that name: in
// their code, or as a file of their test data.
func namesCase(source, dir, name string) bool {
	if strings.Contains(source, `"`+name+`"`) || strings.Contains(source, "`"+name+"`") {
		return true
	}
	for _, pattern := range []string{"testdata/*/" + name + ".*", "testdata/" + name + ".*", "testdata/*/" + name} {
		if found, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), filepath.FromSlash(pattern))); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}
