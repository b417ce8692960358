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
	const prelude = "github.com/quoinhq/quoin/guestrt/internal/prelude"
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", prelude).Output()
	if err != nil {
		t.Fatal(fmt.Errorf("finding %s: %w", prelude, err))
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "guest.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
