//go:build unix

package durable

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPrivateFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "se cret")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		if b, err := ReadPrivate(name, 100); err != nil || string(b) != "secret" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o610, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{path, link} {
			var open *NotPrivateError
			if b, err := ReadPrivate(name, 100); !errors.As(err, &open) || open.Mode != mode || b != nil {
				t.Errorf("%s with mode %04o: %q, %v", name, mode, b, err)
			}
		}
	}
	// What is proposed repairs it.
	var open *NotPrivateError
	if _, err := ReadPrivate(path, 100); !errors.As(err, &open) || !strings.HasSuffix(err.Error(), ": run "+open.Command) {
		t.Fatalf("%v", err)
	}
	if out, err := exec.Command("sh", "-c", open.Command).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v %s", open.Command, err, out)
	}
	if _, err := ReadPrivate(path, 100); err != nil {
		t.Errorf("repaired: %v", err)
	}
}

// owned is what the system says of a file that another user owns.
type owned struct {
	os.FileInfo
	uid uint32
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

// TestPrivateFilesOfOthers are refused although their mode is right.
func TestPrivateFilesOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, uid := range []uint32{0, uint32(os.Geteuid())} {
		if err := checkPrivate(path, owned{st, uid}); err != nil {
			t.Errorf("a file of user %d: %v", uid, err)
		}
	}
	another := uint32(os.Geteuid()) + 1
	var open *NotPrivateError
	if err := checkPrivate(path, owned{st, another}); !errors.As(err, &open) || open.Owner != int(another) || open.Command != "" {
		t.Errorf("got %v", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if st, err = os.Stat(path); err != nil {
		t.Fatal(err)
	}
	if err := checkPrivate(path, owned{st, another}); !errors.As(err, &open) || open.Command != "" {
		t.Errorf("the file of another is to be changed: %v", err)
	}
}

// TestAPipeIsNotWaitedFor: no writer ever opens it.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPrivate(path, 100); !errors.Is(err, ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}

// TestCreateWithoutLinks: some file systems, such as FAT, have no links.
func TestCreateWithoutLinks(t *testing.T) {
	was := link
	t.Cleanup(func() { link = was })
	link = func(from, to string) error { return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EPERM} }
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	if err := Create(path, []byte("one"), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Create(path, []byte("two"), Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second: %v, want fs.ErrExist", err)
	}
	if b, err := ReadPrivate(path, 100); err != nil || string(b) != "one" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("the directory has %v", got)
	}
}

// TestALockOfAFileThatIsGone does not hold: its last holder has removed the file between
// open and lock, and another process may have made and locked a new one.
func TestALockOfAFileThatIsGone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, b := NewLock(path), NewLock(path)
	defer func() {
		if err := errors.Join(a.Close(), b.Close()); err != nil {
			t.Error(err)
		}
	}()
	if a.Holds(path) {
		t.Error("a lock that was not taken holds")
	}
	if err := a.TryLock(); err != nil || !a.Holds(path) {
		t.Fatalf("a lock that was taken does not hold: %v", err)
	}
	if err := os.Remove(path); err != nil || a.Holds(path) {
		t.Errorf("the lock of a removed file holds: %v", err)
	}
	if err := b.TryLock(); err != nil || !b.Holds(path) || a.Holds(path) {
		t.Errorf("the new file: %v; its lock holds: %v, that of the old one: %v", err, b.Holds(path), a.Holds(path))
	}
}
