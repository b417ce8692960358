package prelude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/guestrt/prelude"
	"github.com/quoinhq/quoin/guestrt/prelude/gen/bundle"
)

func TestScriptIsUpToDate(t *testing.T) {
	want, err := bundle.Build("src")
	if err != nil {
		t.Fatal(err)
	}
	if prelude.JS != string(want) {
		t.Error("prelude.js differs from its sources; run go generate ./guestrt/prelude")
	}
}

// TestBundleDependsOnTheSourcesAlone: not on the folder they are in.
func TestBundleDependsOnTheSourcesAlone(t *testing.T) {
	elsewhere := t.TempDir()
	if err := os.CopyFS(elsewhere, os.DirFS("src")); err != nil {
		t.Fatal(err)
	}
	text, err := bundle.Build(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if prelude.JS != string(text) {
		t.Error("the same sources in another folder make another script")
	}
}

func TestBundleReportsWhereASourceIsWrong(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.ts"), []byte("const a = 1;\nlet b = ;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := bundle.Build(dir); err == nil || !strings.Contains(err.Error(), "main.ts:2:") {
		t.Errorf("got %v", err)
	}
}

func TestScriptIsSmall(t *testing.T) {
	const most = 36 << 10
	if len(prelude.JS) > most {
		t.Errorf("prelude.js has %d bytes, want at most %d", len(prelude.JS), most)
	}
}
