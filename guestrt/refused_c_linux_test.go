//go:build quickjs_c

package guestrt

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// refusedBecause is what the worker of refusedWorker lacks.
const refusedBecause = "linked dynamically"

// refusedWorker builds the native worker as go build does without the flags of its
// builder: with a C library of the system.
func refusedWorker(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "quoin-guest-dynamic")
	cmd := exec.Command("go", "build", "-pgo=off", "-tags", "quickjs_c,netgo,osusergo", "-o", out, "./cmd/quoin-guest")
	cmd.Env = append(os.Environ(), "CGO_LDFLAGS="+strings.ReplaceAll(os.Getenv("CGO_LDFLAGS"), "-static", ""))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}
