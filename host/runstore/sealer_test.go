package runstore_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
)

// TestASealedFileIsOfOnePurposeNameAndStore: it cannot be passed off as another.
func TestASealedFileIsOfOnePurposeNameAndStore(t *testing.T) {
	open := func() *runstore.Dir {
		d, err := runstore.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d, dir := open(), t.TempDir()
	path := filepath.Join(dir, "a")
	if err := d.Sealer("approvals").Create(path, []byte("content")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	if b, err := d.Sealer("approvals").Read(path); err != nil || string(b) != "content" {
		t.Errorf("for its own purpose: %q, %v", b, err)
	}
	for what, read := range map[string]func() ([]byte, error){
		"for another purpose": func() ([]byte, error) { return d.Sealer("results").Read(path) },
		"for no purpose":      func() ([]byte, error) { return d.Sealer("").Read(path) },
		"under another name":  func() ([]byte, error) { return d.Sealer("approvals").Read(filepath.Join(dir, "b")) },
		"by another store":    func() ([]byte, error) { return open().Sealer("approvals").Read(path) },
	} {
		if b, err := read(); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("%s: %q, %v, want ErrCorrupt", what, b, err)
		}
	}
}

// TestSealedFilesAreBounded when they are written, and again when they are read.
func TestSealedFilesAreBounded(t *testing.T) {
	d, err := runstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, path := d.Sealer("tests"), filepath.Join(t.TempDir(), "file")
	if err := s.Create(path, make([]byte, 4<<20)); err == nil {
		t.Error("a file that could not be read back was written")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there all the same: %v", err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte{1}, 4<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(path); !errors.Is(err, runstore.ErrCorrupt) {
		t.Errorf("Read of a file that is too large: %v, want ErrCorrupt", err)
	}
}

// TestCreateNeverReplaces: of several that create one name, one succeeds.
func TestCreateNeverReplaces(t *testing.T) {
	d, err := runstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, path := d.Sealer("tests"), filepath.Join(t.TempDir(), "file")
	if err := s.Create(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second Create: %v, want fs.ErrExist", err)
	}
	if b, err := s.Read(path); err != nil || string(b) != "first" {
		t.Errorf("got %q, %v", b, err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}
