package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/host/sqlite"
)

// TestABackup while runs are written has each run that was stored before it, and is a state when it
// is put next to the key.
func TestABackup(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	d := open(t, dir, sqlite.Options{})
	for n := range 20 {
		must(d.Create(ctx, runstoretest.Record(fmt.Sprint("run_", n), 1), 0))(t).Release()
	}
	var writing sync.WaitGroup
	for n := range 4 {
		writing.Go(func() {
			for i := range 20 {
				c, err := d.Create(ctx, runstoretest.Record(fmt.Sprint("run_later_", n, "_", i), 1), 0)
				if err != nil {
					t.Error(err)
					return
				}
				c.Release()
			}
		})
	}
	file := filepath.Join(t.TempDir(), "quoin.db")
	check(t, d.Backup(ctx, file))
	writing.Wait()
	if err := d.Backup(ctx, file); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup over another: %v", err)
	}
	if left := must(filepath.Glob(filepath.Join(filepath.Dir(file), ".*")))(t); len(left) > 0 {
		t.Errorf("it has left %v", left)
	}
	if st := must(os.Stat(file))(t); st.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v", st.Mode())
	}
	restored := t.TempDir()
	check(t, os.Rename(file, filepath.Join(restored, sqlite.FileName)))
	key := must(os.ReadFile(filepath.Join(dir, sqlite.KeyFile)))(t)
	check(t, os.WriteFile(filepath.Join(restored, sqlite.KeyFile), key, 0o600))
	back := open(t, restored, sqlite.Options{})
	check(t, back.Check(ctx))
	for n := range 20 {
		must(back.Get(ctx, fmt.Sprint("run_", n)))(t)
	}
}
