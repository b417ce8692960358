package runstore

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

var errDisk = errors.New("input/output error")

// failSyncs makes the next n syncs fail.
func failSyncs(t *testing.T, n int) {
	t.Helper()
	was := durable.Sync
	t.Cleanup(func() { durable.Sync = was })
	durable.Sync = func(f *os.File) error {
		if n > 0 {
			n--
			return errDisk
		}
		durable.Sync = was
		return was(f)
	}
}

// suspended is a store with one run that waits for two calls.
func suspended(t *testing.T) (*Dir, string) {
	t.Helper()
	d, err := OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := Alone(d).Put(context.Background(), generation(1), 0); err != nil {
		t.Fatal(err)
	}
	return d, filepath.Join(d.path, "run"+recordExt)
}

// writtenAgain has the next write make a new file.
func writtenAgain(d *Dir) {
	o := d.files.take("run")
	o.unsure = true
	o.mu.Unlock()
}

// generation is the run with its nth image.
func generation(n uint64) *Record {
	return &Record{
		ID: "run", Format: FormatVersion, Generation: n, Expires: time.Now().Add(time.Hour).UTC(),
		Calls: []Call{{ID: 1, State: CallInFlight}, {ID: 2, State: CallInFlight}}, Image: []byte{byte(n)},
	}
}

func settled(id uint64, answer string) []Call {
	return []Call{{ID: id, State: CallSettled, OK: true, Answer: json.RawMessage(answer)}}
}

func inode(t *testing.T, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// holding fails the test unless a fresh process finds the run with these answers.
func holding(t *testing.T, d *Dir, generation uint64, answers ...string) {
	t.Helper()
	fresh, err := OpenDir(d.path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := fresh.Get(context.Background(), "run")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range r.Calls {
		got = append(got, string(c.Answer))
	}
	if r.Generation != generation || !slices.Equal(got, answers) {
		t.Errorf("the store has generation %d with the answers %q, want %d with %q", r.Generation, got, generation, answers)
	}
}

// TestAFailedSyncIsNotForgotten: after a failed sync the kernel may take pages for
// clean that are not on disk, so the next sync of that file proves nothing. The
// caller learns of the failure, and the next write makes a new file.
func TestAFailedSyncIsNotForgotten(t *testing.T) {
	ctx := context.Background()
	for name, tc := range map[string]struct {
		next func(*Dir) error
		want uint64
		has  []string
	}{
		"answers":      {func(d *Dir) error { return Alone(d).PutCalls(ctx, "run", 1, settled(2, `"b"`)) }, 1, []string{`"a"`, `"b"`}},
		"a checkpoint": {func(d *Dir) error { return Alone(d).Checkpoint(ctx, generation(2)) }, 2, []string{"", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			d, file := suspended(t)
			before := inode(t, file)
			failSyncs(t, 1)
			if err := Alone(d).PutCalls(ctx, "run", 1, settled(1, `"a"`)); !errors.Is(err, errDisk) {
				t.Fatalf("an answer that may not be on disk: %v", err)
			}
			if !os.SameFile(before, inode(t, file)) {
				t.Fatal("the file was replaced although the answer was only appended")
			}
			if err := tc.next(d); err != nil {
				t.Fatal(err)
			}
			if os.SameFile(before, inode(t, file)) {
				t.Error("a file of which a sync has failed was appended to")
			}
			holding(t, d, tc.want, tc.has...)
			// The new file is sound: from here on answers are appended again.
			sound := inode(t, file)
			if err := Alone(d).PutCalls(ctx, "run", tc.want, settled(1, `"c"`)); err != nil {
				t.Fatal(err)
			}
			if !os.SameFile(sound, inode(t, file)) {
				t.Error("every later answer writes the whole file")
			}
		})
	}
}

// TestAFailedSyncOfTheNewFile: as long as the new file cannot be made, no write
// succeeds, and the run stays readable.
func TestAFailedSyncOfTheNewFile(t *testing.T) {
	ctx := context.Background()
	d, file := suspended(t)
	failSyncs(t, 3)
	for range 3 {
		if err := Alone(d).PutCalls(ctx, "run", 1, settled(1, `"a"`)); !errors.Is(err, errDisk) {
			t.Fatalf("got %v", err)
		}
	}
	if err := Alone(d).PutCalls(ctx, "run", 1, settled(2, `"b"`)); err != nil {
		t.Fatal(err)
	}
	holding(t, d, 1, `"a"`, `"b"`)
	wantOnly(t, file)
}

// TestAFailedSyncKeepsTheOlderRecord: a record that is not certainly on disk does
// not take the place of one that is, and nothing of it is left over.
func TestAFailedSyncKeepsTheOlderRecord(t *testing.T) {
	d, file := suspended(t)
	writtenAgain(d)
	failSyncs(t, 1)
	if err := Alone(d).Put(context.Background(), generation(2), 0); !errors.Is(err, errDisk) {
		t.Fatalf("got %v", err)
	}
	holding(t, d, 1, "", "")
	wantOnly(t, file)
}

// TestAFailedSyncOfTheDirectory: the rename may be lost with the power, so the
// caller must not rely on it.
func TestAFailedSyncOfTheDirectory(t *testing.T) {
	d, _ := suspended(t)
	writtenAgain(d)
	n, was := 0, durable.Sync
	t.Cleanup(func() { durable.Sync = was })
	durable.Sync = func(f *os.File) error {
		if n++; n == 2 {
			return errDisk
		}
		return was(f)
	}
	if err := Alone(d).Put(context.Background(), generation(2), 0); !errors.Is(err, errDisk) {
		t.Fatalf("got %v", err)
	}
	durable.Sync = was
	if err := Alone(d).Put(context.Background(), generation(3), 0); err != nil {
		t.Fatal(err)
	}
	holding(t, d, 3, "", "")
}

// wantOnly fails the test if writers left temporary files next to a file.
func wantOnly(t *testing.T, name string) {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*"+tempExt))
	if err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// TestAppendedFilesStayReadable: a file that would be larger than what is read back
// is not appended to.
func TestAppendedFilesStayReadable(t *testing.T) {
	d, file := suspended(t)
	before := inode(t, file).Size()
	o := d.files.take("run")
	defer o.mu.Unlock()
	if err := o.know(); err != nil {
		t.Fatal(err)
	}
	f, err := callFrame(settled(1, `"a"`)[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(frameBytes + len(f.header) + len(f.body))
	o.size = maxLog - size + 1 // as if that much had been appended already
	if err := o.extend(o.expires, f); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte too much: %v", err)
	}
	if after := inode(t, file).Size(); after != before {
		t.Errorf("the file went from %d to %d bytes", before, after)
	}
}

// TestSweepSparesARunThatWasUsedMeanwhile: between the look at the file and the
// claim another process resumed the run and suspended it again.
func TestSweepSparesARunThatWasUsedMeanwhile(t *testing.T) {
	d, _ := suspended(t)
	if d.removeExpired("run", time.Now()) {
		t.Error("a run whose time is not over was removed")
	}
	holding(t, d, 1, "", "")
	if !d.removeExpired("run", time.Now().Add(2*time.Hour)) {
		t.Error("a run whose time is over was kept")
	}
	if !d.removeExpired("run", time.Now()) {
		t.Error("a run that is gone was counted as kept")
	}
}
