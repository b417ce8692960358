package main

import (
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"testing/fstest"
)

// neededEnv makes TestSafetyPatchesAreNeeded run.
const neededEnv = "QUOIN_TEST_PATCHES"

// safetyPatches are the patches that repair what misuses memory, and programs of
// testdata/safety of package quickjs that fail without them. regexp-without-memory is
// left out: what it repairs writes a few bytes behind a request, which the arena rounds
// up, so that the sanitizers seldom see it.
var safetyPatches = map[string]string{
	"coroutine-kept-alive":            "coroutine-held|generator-held",
	"array-push-behind-count":         "array-push|array-regrown",
	"rope-taken-for-string":           "json-indent|regexp-escape",
	"resolving-functions-freed-twice": "out-of-memory-promises",
	"references-counted-too-often":    "references-released",
}

// failure is how a program fails: a wrong value, a finding of a sanitizer, an assertion.
var failure = regexp.MustCompile(`TestSafetyPrograms|AddressSanitizer|runtime error:|SIGABRT|Assertion`)

// TestSafetyPatchesAreNeeded runs the programs with sanitizers and without each patch
// in turn: they must fail.
func TestSafetyPatchesAreNeeded(t *testing.T) {
	if os.Getenv(neededEnv) == "" {
		t.Skip("compiles the engine once a patch, which takes minutes: make test-patches runs it")
	}
	for name, programs := range safetyPatches {
		t.Run(name, func(t *testing.T) {
			others, file := fstest.MapFS{}, "patches/"+name+".patch"
			all, err := fs.Glob(patches, "patches/*.patch")
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range all {
				if others[p] = new(fstest.MapFile); p == file {
					delete(others, p)
				} else if others[p].Data, err = patches.ReadFile(p); err != nil {
					t.Fatal(err)
				}
			}
			if len(others) != len(all)-1 {
				t.Fatalf("there is no %s", file)
			}
			l, err := buildLibrary(true, others)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := os.RemoveAll(l.dir); err != nil {
					t.Error(err)
				}
			})
			cmd := exec.Command("go", "test", "-short", "-pgo=off", "-count=1", "-tags", l.tags(), "-run", "TestSafetyPrograms/("+programs+")",
				"github.com/quoinhq/quoin/guestrt/internal/engine/quickjs")
			cmd.Env = append(os.Environ(), l.env()...)
			out, err := cmd.CombinedOutput()
			if err == nil || !failure.Match(out) {
				t.Errorf("the programs do not fail without it: %v\n%s", err, out)
			}
		})
	}
}
