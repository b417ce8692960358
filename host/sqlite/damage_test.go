package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/host/sqlite"
)

// TestFilesThatAreNoState are refused, with what to do, and left as they are.
func TestFilesThatAreNoState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		want   error
		says   string
	}{
		"no database": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "state.db"), bytes.Repeat([]byte("no database "), 1000))
		}, runstore.ErrCorrupt, "put a backup in its place"},
		"pages that are overwritten": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, "state.db")
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 100; i < len(b); i++ {
				b[i] = 0xff
			}
			write(t, path, b)
		}, runstore.ErrCorrupt, "put a backup in its place"},
		"another key": {func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "state.key"), bytes.Repeat([]byte("k"), 32))
		}, sqlite.ErrOtherKey, "put the file state.key that was next to it back"},
		"a newer version": {func(t *testing.T, dir string) {
			d := open(t, dir, sqlite.Options{})
			if err := d.Change(`INSERT INTO migrations (version_id, is_applied) VALUES (1000, 1)`); err != nil {
				t.Fatal(err)
			}
		}, sqlite.ErrNewer, "run that version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
			if err == nil {
				err = d.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			c.change(t, dir)
			before, err := os.ReadFile(filepath.Join(dir, "state.db"))
			if err != nil {
				t.Fatal(err)
			}
			d, err = sqlite.Open(t.Context(), dir, sqlite.Options{})
			if err == nil {
				t.Fatal("it was opened", d.Close())
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), dir) {
				t.Errorf("got %v, want %v that says %q", err, c.want, c.says)
			}
			after, err := os.ReadFile(filepath.Join(dir, "state.db"))
			if err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file has changed, %v", err)
			}
		})
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRowsThatWereChanged are not read.
func TestRowsThatWereChanged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, change := range []string{
		`UPDATE records SET header = replace(header, '"javascript"', '"typescript"')`,
		`UPDATE records SET image = x'00'`,
		`UPDATE runs SET id = 'run_2'`,
		`UPDATE runs SET ended = 1`,
		`UPDATE journal SET body = CAST('2' AS BLOB)`,
		`UPDATE journal SET n = 2 - n`,
		`DELETE FROM journal WHERE n = 0`,
	} {
		d := open(t, t.TempDir(), sqlite.Options{})
		c, err := d.Create(ctx, runstoretest.Record("run_1", 1), 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range []string{"1", "11"} {
			if err := c.PutCalls(ctx, 1, runstoretest.Settled(1, answer)); err != nil {
				t.Fatal(err)
			}
		}
		c.Release()
		if err := d.Change(change); err != nil {
			t.Fatal(err)
		}
		id, get := "run_1", func(id string) error { _, err := d.Get(ctx, id); return err }
		switch {
		case strings.Contains(change, "run_2"):
			id = "run_2"
		case strings.Contains(change, "ended"):
			get = func(id string) error { _, err := d.Ended(ctx, id); return err }
		}
		if err := get(id); !errors.Is(err, runstore.ErrCorrupt) {
			t.Errorf("%s: %v", change, err)
		}
		if list, err := d.List(ctx); err != nil || len(list) != 0 && !strings.Contains(change, "image") {
			t.Errorf("%s: %d runs are listed, %v", change, len(list), err)
		}
	}
}

// TestANetworkFileSystem is refused, with the settings that help, before anything is written there.
func TestANetworkFileSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := sqlite.Open(t.Context(), dir, sqlite.OnNetwork(sqlite.Options{}, "NFS"))
	if err == nil || !strings.Contains(err.Error(), "NFS") || !strings.Contains(err.Error(), "state.dir, --state") {
		t.Errorf("got %v", err)
	}
	if files := must(os.ReadDir(dir))(t); len(files) > 0 {
		t.Errorf("it has written %v", files)
	}
}

// TestAFileThatIsDamagedInside and was not closed is found at the start, and not written.
func TestAFileThatIsDamagedInside(t *testing.T) {
	t.Parallel()
	ctx, from, dir := t.Context(), t.TempDir(), t.TempDir()
	d := open(t, from, sqlite.Options{})
	for n := range 50 {
		must(d.Create(ctx, runstoretest.Record(fmt.Sprint("run_", n), 1), 0))(t).Release()
	}
	check(t, d.Checkpoint())
	must(d.Create(ctx, runstoretest.Record("run_last", 1), 0))(t).Release()
	was := readDisk(t, from)
	page := bytes.LastIndex(was.db, []byte("run_7")) &^ 4095
	copy(was.db[page:], bytes.Repeat([]byte{0xff}, 4096))
	for name, b := range map[string][]byte{"state.key": was.key, "state.db": was.db, "state.db-wal": was.wal} {
		write(t, filepath.Join(dir, name), b)
	}
	if _, err := sqlite.Open(ctx, dir, sqlite.Options{}); !errors.Is(err, runstore.ErrCorrupt) || !strings.Contains(err.Error(), "put a backup in its place") {
		t.Errorf("got %v", err)
	}
}
