package repotest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the top of the repository.
const root = "../.."

var update = flag.Bool("update", false, "write the pages that the tests compare with")

// golden compares a generated page with the one in the tree, or writes it.
func golden(t *testing.T, name, want string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v); run: go test ./internal/repotest -run %s -update", name, err, t.Name())
	}
}

// goldenPart pins the part of a page between the marks "generated: NAME" and "end".
func goldenPart(t *testing.T, name, part, want string) {
	t.Helper()
	begin, end := "<!-- generated: "+part+" -->\n", "<!-- end -->\n"
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks the marks %q and %q", name, begin, end)
	}
	golden(t, name, before+begin+want+end+after)
}
