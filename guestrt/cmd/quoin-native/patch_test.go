package main

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

func TestPatch(t *testing.T) {
	const text = "one\ntwo\n\nthree\ntwo\nfour\n"
	for name, c := range map[string]struct{ patch, want, err string }{
		"a change":            {"why\n\n--- a/f.c\n+++ b/f.c\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n", "one\n2\n\nthree\ntwo\nfour\n", ""},
		"wrong line numbers":  {"--- a/f.c\n+++ b/f.c\n@@ -90,2 +95,2 @@\n one\n-two\n+2\n", "one\n2\n\nthree\ntwo\nfour\n", ""},
		"an empty line":       {"--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n two\n\n-three\n+3\n", "one\ntwo\n\n3\ntwo\nfour\n", ""},
		"two hunks":           {"--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n-one\n+1\n@@ -6 +6 @@\n-four\n+4\n", "1\ntwo\n\nthree\ntwo\n4\n", ""},
		"lines that are not":  {"--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n-five\n+5\n", "", "occur 0 times"},
		"lines that are two":  {"--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n-two\n+2\n", "", "occur 2 times"},
		"a file that is not":  {"--- a/g.c\n+++ b/g.c\n@@ -1 +1 @@\n-one\n+1\n", "", "no file g.c"},
		"no file":             {"@@ -1 +1 @@\n-one\n+1\n", "", "belongs to no file"},
		"no hunk":             {"--- a/f.c\n+++ b/f.c\n", "", "has no hunk"},
		"no change":           {"--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n one\n", "", "changes nothing"},
		"a line without sign": {"--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\none\n", "", "starts with no sign"},
	} {
		s := source{"f.c": []byte(text)}
		err := s.patch(c.patch)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %q", name, err, c.err)
			}
			continue
		}
		if err != nil || string(s["f.c"]) != c.want {
			t.Errorf("%s: got %q, %v", name, s["f.c"], err)
		}
	}
}

// TestSourcesAreChecked: a file that was changed after it was fetched is not compiled.
func TestSourcesAreChecked(t *testing.T) {
	dir := t.TempDir()
	if err := (source{"a.c": []byte("int a;\n")}).write(dir); err != nil {
		t.Fatal(err)
	}
	const sum = "ad5f6a9ed6c0eb2d6e0c8a4a2ffbd9d6f1d9ea1b6c5a6a0b7f7b3ef7e3f1a2c4"
	if _, err := checkedFiles(dir, sum+"  a.c\n"); err == nil || !strings.Contains(err.Error(), "has the SHA-256") {
		t.Errorf("another sum: %v", err)
	}
	if _, err := checkedFiles(dir, sum+"  b.c\n"); err == nil {
		t.Error("a file that is missing was taken")
	}
	if _, err := checkedFiles(dir, "nonsense\n"); err == nil {
		t.Error("a line without a name was taken")
	}
	good := sha256.Sum256([]byte("int a;\n"))
	if src, err := checkedFiles(dir, fmt.Sprintf("%x  a.c\n", good)); err != nil || len(src) != 1 {
		t.Errorf("the right sum: %v, %v", src, err)
	}
}
