//go:build unix

package guestbuilds_test

import (
	"os"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/internal/guestbuilds"
)

// TestOthersMustNotWrite: hosts execute what is in the directory.
func TestOthersMustNotWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := guestbuilds.Open(dir); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("got %v", err)
	}
}
