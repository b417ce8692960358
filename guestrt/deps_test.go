package guestrt

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTheParentNeverLinksTheEngine keeps the engine, the transform and every
// other package of the worker out of programs that embed a host.
func TestTheParentNeverLinksTheEngine(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for dep := range strings.Lines(string(out)) {
		dep = strings.TrimSpace(dep)
		for _, banned := range []string{"modernc.org", "esbuild", "guestrt/internal/engine", "guestrt/guestserver", "guestrt/internal/prelude"} {
			if strings.Contains(dep, banned) {
				t.Errorf("guestrt links %s", dep)
			}
		}
		if own, ok := strings.CutPrefix(dep, "github.com/quoinhq/quoin/"); ok && !strings.HasPrefix(own, "guestrt") && !strings.HasPrefix(own, "internal/") {
			t.Errorf("guestrt imports %s", dep)
		}
	}
}
