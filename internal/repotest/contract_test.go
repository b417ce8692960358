package repotest

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

// provenBy is a test that a sentence of the contract names: its directory, its
// name, and perhaps one case of it.
type provenBy struct{ dir, name, part string }

// sentence is one promise of the contract with the tests that fail without it.
type sentence struct {
	line  int
	text  string
	tests []provenBy
}

// section is a headed part of the contract.
type section struct {
	title     string
	sentences []sentence
}

var contractTest = regexp.MustCompile(`^([a-z0-9/-]+)\.((?:Test|Fuzz|Benchmark|Example)\w*)(?:/(.+))?$`)

// parseContract reads testdata/contract.txt: sections start with "== ", sentences
// stand at the start of a line, and their tests follow, one a line, after a tab.
func parseContract(text string) ([]section, error) {
	var all []section
	for i, line := range strings.Split(text, "\n") {
		var err error
		if line != "" && !strings.HasPrefix(line, "# ") {
			all, err = contractLine(all, i+1, line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	for _, part := range all {
		for _, s := range part.sentences {
			if len(s.tests) == 0 {
				return nil, fmt.Errorf("line %d: the sentence names no test", s.line)
			}
		}
	}
	return all, nil
}

func contractLine(all []section, number int, line string) ([]section, error) {
	if title, ok := strings.CutPrefix(line, "== "); ok {
		return append(all, section{title: title}), nil
	}
	if len(all) == 0 {
		return nil, errors.New("a line stands before the first section")
	}
	last := &all[len(all)-1]
	test, ok := strings.CutPrefix(line, "\t")
	if !ok {
		if strings.TrimSpace(line) != line {
			return nil, errors.New("a sentence starts and ends without white space")
		}
		last.sentences = append(last.sentences, sentence{line: number, text: line})
		return all, nil
	}
	m := contractTest.FindStringSubmatch(test)
	if m == nil || len(last.sentences) == 0 {
		return nil, fmt.Errorf("%q is no test of a sentence; write DIRECTORY.NAME or DIRECTORY.NAME/CASE", test)
	}
	s := &last.sentences[len(last.sentences)-1]
	s.tests = append(s.tests, provenBy{m[1], m[2], m[3]})
	return all, nil
}

// TestContract checks that every sentence of the contract names tests that exist.
func TestContract(t *testing.T) {
	text, err := os.ReadFile("testdata/contract.txt")
	if err != nil {
		t.Fatal(err)
	}
	sections, err := parseContract(string(text))
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	count := 0
	for _, part := range sections {
		for _, s := range part.sentences {
			count++
			for _, p := range s.tests {
				if err := p.missing(sources); err != nil {
					t.Errorf("contract.txt:%d: %v", s.line, err)
				}
			}
		}
	}
	if count < 150 {
		t.Errorf("the contract has %d sentences, want 150 or more", count)
	}
}

// missing says why a test or its case cannot be found. It keeps the sources that
// it has read.
func (p provenBy) missing(sources map[string]string) error {
	if _, ok := sources[p.dir]; !ok {
		source, err := testSource(p.dir)
		if err != nil {
			return err
		}
		sources[p.dir] = source
	}
	if !strings.Contains(sources[p.dir], "func "+p.name+"(") {
		return fmt.Errorf("%s has no %s", p.dir, p.name)
	}
	if p.part != "" && !namesCase(sources[p.dir], p.dir, p.part) {
		return fmt.Errorf("%s.%s has no case %q", p.dir, p.name, p.part)
	}
	return nil
}

// testSource returns the test code of a directory of the module.
func testSource(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("%s has no tests (%v)", dir, err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		all.Write(b)
	}
	return all.String(), nil
}

// namesCase reports whether the tests of a directory have a case of that name, in
// their code or as a file of their test data.
func namesCase(source, dir, name string) bool {
	if strings.Contains(source, `"`+name+`"`) || strings.Contains(source, "`"+name+"`") {
		return true
	}
	for _, pattern := range []string{"testdata/*/" + name + ".*", "testdata/" + name + ".*", "testdata/*/" + name} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), filepath.FromSlash(pattern)))
		if err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// TestContractFormat checks that no slip in the file hides a test from the check.
func TestContractFormat(t *testing.T) {
	good := "# a comment\n\n== Part\n\na sentence | with a bar\n\thost.TestA\n\ta/b.FuzzB/x, y\n"
	sections, err := parseContract(good)
	if err != nil || len(sections) != 1 || len(sections[0].sentences) != 1 {
		t.Fatalf("got %v, %v", sections, err)
	}
	want := []provenBy{{"host", "TestA", ""}, {"a/b", "FuzzB", "x, y"}}
	if got := sections[0].sentences[0]; got.text != "a sentence | with a bar" || !slices.Equal(got.tests, want) {
		t.Errorf("got %v", got)
	}
	for _, bad := range []string{
		"a sentence\n\thost.TestA", "== Part\n\thost.TestA", "== Part\na sentence", "== Part\na\n\tTestA", "== Part\na\n\thost.TestA, host.TestB",
		"== Part\n a sentence\n\thost.TestA", "== Part\na\n\t`host.TestA`", "== Part\na\n\thost.testA", "== Part\na\nb\n\thost.TestA",
	} {
		if got, err := parseContract(bad); err == nil {
			t.Errorf("%q: accepted as %v", bad, got)
		}
	}
}
