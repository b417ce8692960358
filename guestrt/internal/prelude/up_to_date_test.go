package prelude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/guestrt/internal/prelude"
	"github.com/quoinhq/quoin/guestrt/internal/prelude/gen/bundle"
)

// scripts bundles the sources in dir: every script by its entry.
func scripts(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries := []string{bundle.Main}
	names, err := bundle.Extras(dir)
	if err != nil || len(names) == 0 {
		t.Fatalf("extras of %s: %v, %v", dir, names, err)
	}
	for _, name := range names {
		entries = append(entries, bundle.ExtraEntry(name))
	}
	made := map[string]string{}
	for _, entry := range entries {
		text, err := bundle.Build(dir, entry)
		if err != nil {
			t.Fatal(err)
		}
		made[entry] = string(text)
	}
	return made
}

func TestScriptsAreUpToDate(t *testing.T) {
	made := scripts(t, "src")
	if prelude.JS != made[bundle.Main] {
		t.Error("prelude.js differs from its sources; run go generate ./guestrt/internal/prelude")
	}
	files, err := filepath.Glob("extra/*.js")
	if err != nil || len(files) != len(made)-1 {
		t.Errorf("%d extras are committed, %d have sources (%v)", len(files), len(made)-1, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".js")
		if script, ok := prelude.Extra(name); !ok || script != made[bundle.ExtraEntry(name)] {
			t.Errorf("%s differs from its source; run go generate ./guestrt/internal/prelude", file)
		}
	}
}

// TestBundleDependsOnTheSourcesAlone: not on the folder they are in.
func TestBundleDependsOnTheSourcesAlone(t *testing.T) {
	elsewhere := t.TempDir()
	if err := os.CopyFS(elsewhere, os.DirFS("src")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(scripts(t, "src"), scripts(t, elsewhere)); diff != "" {
		t.Errorf("the same sources in another folder make other scripts:\n%s", diff)
	}
}

func TestBundleReportsWhereASourceIsWrong(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.ts"), []byte("const a = 1;\nlet b = ;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Build(dir, bundle.Main); err == nil || !strings.Contains(err.Error(), "main.ts:2:") {
		t.Errorf("got %v", err)
	}
}

func TestScriptIsSmall(t *testing.T) {
	const most = 43 << 10
	if len(prelude.JS) > most {
		t.Errorf("prelude.js has %d bytes, want at most %d", len(prelude.JS), most)
	}
}
