package runstore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
)

// FuzzDirGet feeds arbitrary bytes to the reader of record files: without the
// key nothing verifies, and nothing panics.
func FuzzDirGet(f *testing.F) {
	path := f.TempDir()
	s, err := runstore.OpenDir(path)
	if err != nil {
		f.Fatal(err)
	}
	if err := runstore.Alone(s).Put(context.Background(), record("seed"), 0); err != nil {
		f.Fatal(err)
	}
	seed, err := os.ReadFile(filepath.Join(path, "seed.run"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed[:len(seed)-1])
	f.Add([]byte("QUOINRUNR"))
	f.Add([]byte("QUOINLEGR"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(path, "run.run"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(context.Background(), "run"); !errors.Is(err, runstore.ErrCorrupt) && !errors.Is(err, runstore.ErrFormat) {
			t.Errorf("Get: %v, want ErrCorrupt", err)
		}
	})
}
