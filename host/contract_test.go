package host_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A row of docs/contract.md ends in the tests that prove its sentence, each in
// backquotes: the package's directory, a dot, the test, and below it perhaps the
// name of a case or of a script.
var (
	contractRow  = regexp.MustCompile(`^\| (.+) \| (.+) \|$`)
	contractTest = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|Benchmark|Example)\\w*)(?:/([^`]+))?`")
)

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
		row := contractRow.FindStringSubmatch(line)
		if row == nil || strings.HasPrefix(row[1], "---") || row[2] == "proof" {
			continue
		}
		rows++
		tests := contractTest.FindAllStringSubmatch(row[2], -1)
		if len(tests) == 0 {
			t.Errorf("line %d names no test: %s", i+1, row[1])
		}
		for _, m := range tests {
			dir, name, part := m[1], m[2], m[3]
			if _, ok := sources[dir]; !ok {
				sources[dir] = testSource(t, dir)
			}
			if !strings.Contains(sources[dir], "func "+name+"(") {
				t.Errorf("line %d: there is no %s in %s", i+1, name, dir)
			}
			if part != "" && !namesCase(sources[dir], dir, part) {
				t.Errorf("line %d: %s.%s has no case %q", i+1, dir, name, part)
			}
		}
	}
	if rows < 150 {
		t.Errorf("%d rows: is the document still read?", rows)
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
