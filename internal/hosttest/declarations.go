package hosttest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// GuestDeclarations returns guest.d.ts, which declares the world of a program.
func GuestDeclarations(t testing.TB) string {
	t.Helper()
	dir, err := preludeDir()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "guest.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// preludeDir is where the sources of the guest's world are.
func preludeDir() (string, error) {
	const prelude = "github.com/quoinhq/quoin/guestrt/internal/prelude"
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", prelude).Output()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", prelude, err)
	}
	return strings.TrimSpace(string(dir)), nil
}
