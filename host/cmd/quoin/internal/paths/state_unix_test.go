//go:build unix

package paths

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/ownership"
)

// TestStateDirectoriesOfOthers are refused, with the command that repairs them where they
// are the user's own.
func TestStateDirectoriesOfOthers(t *testing.T) {
	const another = 1234
	root := os.Geteuid() == 0
	for name, change := range map[string]func(dir string) error{
		"open":       func(dir string) error { return os.Chmod(dir, 0o777) },
		"on the way": func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o777) },
		"of a group": func(dir string) error {
			return errors.Join(os.Chown(dir, -1, sharedGroup(t)), os.Chmod(dir, 0o775))
		},
		"of another": func(dir string) error { return os.Chown(dir, another, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(name, "of a") && !root {
				t.Skip("only root can give directories away")
			}
			dir := t.TempDir() + "/st ate"
			if err := CheckState(dir); err != nil {
				t.Fatalf("it is not there yet: %v", err)
			}
			if err := CheckState(dir); err != nil {
				t.Fatal(err)
			}
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			err := CheckState(dir)
			if err == nil {
				t.Fatal("it is taken")
			}
			_, command, advised := strings.Cut(err.Error(), "run: ")
			if own := name == "open" || name == "on the way" && !root; advised != own {
				t.Fatalf("advised: %v: %v", advised, err)
			}
			if !advised {
				return
			}
			if out, err := exec.Command("sh", "-c", command).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", command, err, out)
			}
			if err := CheckState(dir); err != nil {
				t.Errorf("repaired: %v", err)
			}
		})
	}
}

// TestStateDirectoryBelowThatOfAll is made before it is checked, so that no other user of
// a directory such as /tmp makes it first.
func TestStateDirectoryBelowThatOfAll(t *testing.T) {
	all := t.TempDir()
	if err := os.Chmod(all, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(all, "deep", "state")
	if err := CheckState(dir); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{dir, filepath.Dir(dir)} {
		if st, err := os.Stat(made); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", made, st.Mode(), err)
		}
	}
	if err := CheckState(all); err == nil || !strings.Contains(err.Error(), "mode 1777") || strings.Contains(err.Error(), "run") {
		t.Errorf("that of all: %v", err)
	}
}

// sharedGroup is a group of the system that is not the user's own.
func sharedGroup(t *testing.T) int {
	t.Helper()
	for group := 1; group < 1000; group++ {
		if ownership.KnownGroup(uint32(group)) {
			return group
		}
	}
	t.Fatal("the system has no groups")
	return 0
}

// TestVolumesOfContainers: a manager gives a volume of root to a group that no file of the
// system names.
func TestVolumesOfContainers(t *testing.T) {
	if os.Geteuid() != 0 {
		// The tests of root have it.
		t.Skip("only root can give directories away")
	}
	dir := t.TempDir()
	if err := errors.Join(os.Chown(dir, 0, 777_777), os.Chmod(dir, 0o2775)); err != nil {
		t.Fatal(err)
	}
	if err := CheckState(filepath.Join(dir, "state")); err != nil {
		t.Error(err)
	}
}
