package plugins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/hosttest"
)

// TestRunRoots: a folder that another user has made first is passed over.
func TestRunRoots(t *testing.T) {
	hosttest.Serial(t, "sets variables of the process")
	t.Setenv("XDG_RUNTIME_DIR", "")
	tmp := shortDir(t)
	t.Setenv("TMPDIR", tmp)
	usual := tempRunRoot()
	if got, err := defaultRunRoot(); got != usual || err != nil {
		t.Errorf("nothing is there: %s, %v", got, err)
	}
	if err := os.Mkdir(usual, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(usual, 0o777); err != nil {
		t.Fatal(err)
	}
	got, err := defaultRunRoot()
	if err != nil || got == usual || !strings.HasPrefix(got, tmp+"/quoin-") || len(got) > maxRunRoot || checkPrivate(got) != nil {
		t.Errorf("it is open to others: %s, %v", got, err)
	}
	run, err := openRunDir("")
	if err != nil {
		t.Fatal(err)
	}
	if err := run.close(); err != nil {
		t.Error(err)
	}
	private := shortDir(t)
	t.Setenv("XDG_RUNTIME_DIR", private)
	if got, err := defaultRunRoot(); got != filepath.Join(private, "quoin") || err != nil {
		t.Errorf("the user has a folder for it: %s, %v", got, err)
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(private, strings.Repeat("x", maxRunRoot)))
	if got, _ := defaultRunRoot(); strings.HasPrefix(got, private) {
		t.Errorf("too long for sockets: %s", got)
	}
}
