//go:build unix

package runstore

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// owned is the information about a file as if somebody else owned it.
type owned struct {
	os.FileInfo
	uid uint32
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

func TestAKeyOfAnotherUserIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkPrivate(path, st); err != nil {
		t.Errorf("one's own key: %v", err)
	}
	if err := checkPrivate(path, owned{st, uint32(os.Geteuid()) + 1}); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Errorf("another's key: %v", err)
	}
}
