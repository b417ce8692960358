package guestrt

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// goRun runs a program of testdata as its author would.
func goRun(t *testing.T, program string) string {
	t.Helper()
	cmd := exec.Command("go", "run", "./testdata/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestGoRunTwiceSaysTheSame: the first time the program is in a temporary directory,
// the second in the build cache. Neither is a place for the guest worker.
func TestGoRunTwiceSaysTheSame(t *testing.T) {
	first := goRun(t, "gorun")
	if !strings.Contains(first, "go run has put this program alone into a directory of its own") {
		t.Errorf("go run says %q", first)
	}
	if second := goRun(t, "gorun"); second != first {
		t.Errorf("the second go run says %q,\nthe first %q", second, first)
	}
}

// TestAProgramOfGoRunIsItsOwnWorker: what README.md starts an embedding with.
func TestAProgramOfGoRunIsItsOwnWorker(t *testing.T) {
	for range 2 {
		if got := goRun(t, "gorunself"); got != "42" {
			t.Errorf("go run says %q, want 42", got)
		}
	}
}
