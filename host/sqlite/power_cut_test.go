package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/host/sqlite"
)

// disk is the files of a state as they are on the disk.
type disk struct{ key, db, wal []byte }

func readDisk(t testing.TB, dir string) (d disk) {
	t.Helper()
	for name, into := range map[string]*[]byte{"state.key": &d.key, "state.db": &d.db, "state.db-wal": &d.wal} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		*into = b
	}
	return d
}

// put puts the files into a new directory.
func (d disk) put(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, b := range map[string][]byte{"state.key": d.key, "state.db": d.db, "state.db-wal": d.wal} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// torn is the disk of a machine that lost power between two moments: of the log that was
// written, a part is there, and what follows it is as it was before, or noise.
func torn(before, after disk, rnd *rand.Rand) disk {
	first := 0
	for first < min(len(before.wal), len(after.wal)) && before.wal[first] == after.wal[first] {
		first++
	}
	cut := first + rnd.IntN(len(after.wal)-first+1)
	out := after
	out.wal = append([]byte{}, after.wal[:cut]...)
	if rest := before.wal[min(cut, len(before.wal)):]; len(rest) > 0 {
		out.wal = append(out.wal, rest...)
	} else {
		noise := make([]byte, rnd.IntN(5000))
		for i := range noise {
			noise[i] = byte(rnd.Uint32())
		}
		out.wal = append(out.wal, noise...)
	}
	return out
}

// TestAPowerCut copies the files before and after each step of a writer, and tears what the step
// has written to the log. What was answered by then is there, and nothing that was not being written.
func TestAPowerCut(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	rnd := rand.New(rand.NewPCG(1, 2))
	var mu sync.Mutex
	answered := 0 // the newest answer that was stored, as its caller knows
	disks := []struct {
		disk
		answered int
	}{}
	o := sqlite.Stepping(sqlite.Options{}, func(do func() error) error {
		before := readDisk(t, dir)
		err := do()
		after := readDisk(t, dir)
		mu.Lock()
		defer mu.Unlock()
		if !bytes.Equal(before.wal, after.wal) {
			for range 3 {
				disks = append(disks, struct {
					disk
					answered int
				}{torn(before, after, rnd), answered})
			}
		}
		return err
	})
	d := open(t, dir, o)
	c, err := d.Create(ctx, runstoretest.Record("run_1", 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	const writes = 40
	for n := 1; n <= writes; n++ {
		if n%7 == 0 {
			if err := c.Checkpoint(ctx, runstoretest.Record("run_1", uint64(n))); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.PutCalls(ctx, uint64(max(1, n/7*7)), runstoretest.Settled(1, fmt.Sprint(n))); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		answered = n
		mu.Unlock()
	}
	mu.Lock()
	defer mu.Unlock()
	if len(disks) < writes {
		t.Fatalf("only %d disks were looked at", len(disks))
	}
	for i, was := range disks {
		if was.answered == 0 {
			continue // there need not be a run
		}
		checkDisk(t, fmt.Sprintf("disk %d", i), was.disk, was.answered)
	}
}

// checkDisk fails the test unless a disk has the newest answer, or the one that was being
// written.
func checkDisk(t *testing.T, what string, was disk, answered int) {
	t.Helper()
	d, err := sqlite.Open(t.Context(), was.put(t), sqlite.Options{})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := d.Get(context.Background(), "run_1")
	if err != nil {
		t.Fatalf("%s, after the answer %d: %v", what, answered, err)
	}
	got := string(r.Calls[0].Answer)
	checkpoint := r.Calls[0].State == runstore.CallInFlight && (answered+1)%7 == 0 // it is the next write
	if got != fmt.Sprint(answered) && got != fmt.Sprint(answered+1) && !checkpoint {
		t.Errorf("%s: the newest answer is %q, want %d or what follows", what, got, answered)
	}
	if err := d.Check(t.Context()); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
