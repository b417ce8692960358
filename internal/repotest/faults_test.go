package repotest

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/enginefaults"
)

// TestFaultsPage pins the table of the engines' faults, and that each program about one
// belongs to a fault of the list, and each of its programs exists.
func TestFaultsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString("| what goes wrong | fixed upstream by | default | native |\n|---|---|---|---|\n")
	for _, f := range enginefaults.All {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.What, f.Upstream, f.Default, f.Native)
	}
	goldenPart(t, "docs/engines.md", "faults", b.String())

	files, err := filepath.Glob(filepath.Join(root, "guestrt/internal/engine/quickjs/testdata/safety/*.js"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	has := map[string]bool{}
	for _, file := range files {
		name, known := path.Base(filepath.ToSlash(file)), false
		for _, f := range enginefaults.All {
			if f.Programs != "" && strings.HasPrefix(name, f.Programs) {
				has[f.Programs], known = true, true
			}
		}
		if !known {
			t.Errorf("%s belongs to no fault of package enginefaults", name)
		}
	}
	for _, f := range enginefaults.All {
		if f.Programs != "" && !has[f.Programs] {
			t.Errorf("%s: no program is called %s*.js", f.What, f.Programs)
		}
	}
}
