//go:build unix

package protocol

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDebugSocket: the socket is in a folder that no one else can use.
func TestDebugSocket(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	path, err := DebugSocket("demo")
	if err != nil || filepath.Base(path) != "demo.sock" {
		t.Fatalf("%s, %v", path, err)
	}
	dir := filepath.Dir(path)
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", st, err)
	}
	if again, err := DebugSocket("demo"); err != nil || again != path {
		t.Errorf("%s, %v", again, err)
	}
	for _, spoil := range []func() error{
		func() error { return os.Chmod(dir, 0o750) },
		func() error { return os.Chmod(dir, 0o701) },
		func() error { return os.Rename(dir, dir+"2") },
		func() error { return os.Symlink(dir+"2", dir) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(dir); err != nil {
			continue // it is made again
		}
		if _, err := DebugSocket("demo"); err == nil || !strings.Contains(err.Error(), "closed to others") {
			t.Errorf("%v; want a refusal", err)
		}
	}
}
