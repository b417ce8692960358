package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/documents/documentstest"
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, other := open(t, dir, sqlite.Options{}), open(t, dir, sqlite.Options{})
	n := 0
	documentstest.Run(t, func(t *testing.T, transient bool) (a, b documents.Store) {
		n++
		purpose, o := fmt.Sprintf("tests %d", n), documents.DirOptions{MaxBytes: documentstest.MaxBytes, Transient: transient}
		return one.DocumentsOf(purpose, o), other.DocumentsOf(purpose, o)
	}, func(t *testing.T, _ documents.Store, lock string) {
		files, err := filepath.Glob(filepath.Join(dir, "locks", "*", lock+".lock"))
		if err != nil || len(files) != 1 {
			t.Fatalf("the files of the lock are %v, %v", files, err)
		}
		if err := os.Remove(files[0]); err != nil {
			t.Fatal(err)
		}
	})
}
