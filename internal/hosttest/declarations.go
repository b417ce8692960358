package hosttest

import (
	"os"
	"path/filepath"
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
	top, err := root()
	return filepath.Join(top, "guestrt", "internal", "prelude"), err
}
