//go:build unix

package guestbuilds_test

import (
	"errors"
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

// TestVolumesOfContainers are taken, as they are for the rest of the state.
func TestVolumesOfContainers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		// The tests of root have it.
		t.Skip("only root can give directories away")
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chown(dir, 0, 777_777), os.Chmod(dir, 0o2775)); err != nil {
		t.Fatal(err)
	}
	if _, err := guestbuilds.Open(dir); err != nil {
		t.Error(err)
	}
}
