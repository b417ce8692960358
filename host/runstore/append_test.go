package runstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/runstore"
)

// leg is a run file with the states that it has had.
type leg struct {
	t      *testing.T
	dir    string
	store  *runstore.Dir
	sizes  []int64            // of the file in each state
	states []*runstore.Record // nil before the first
}

func newLeg(t *testing.T) *leg {
	dir := t.TempDir()
	store, err := runstore.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := &leg{t: t, dir: dir, store: store}
	r := record("run_1")
	r.Image = []byte("image 1")
	l.done(runstore.Alone(store).Put(context.Background(), r, 0))
	l.settle(1, 1, `"first"`)
	l.settle(1, 2, `"second"`)
	next := record("run_1")
	next.Generation, next.Image = 2, []byte("image 2")
	l.done(runstore.Alone(store).Checkpoint(context.Background(), next))
	l.settle(2, 1, `"third"`)
	return l
}

func (l *leg) name() string { return filepath.Join(l.dir, "run_1.run") }

// done notes the state after a write.
func (l *leg) done(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
	info, err := os.Stat(l.name())
	if err != nil {
		l.t.Fatal(err)
	}
	r, err := l.store.Get(context.Background(), "run_1")
	if err != nil {
		l.t.Fatal(err)
	}
	l.sizes, l.states = append(l.sizes, info.Size()), append(l.states, r)
}

func (l *leg) settle(generation, id uint64, answer string) {
	l.t.Helper()
	l.done(runstore.Alone(l.store).PutCalls(context.Background(), "run_1", generation, []runstore.Call{
		{ID: id, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(answer)},
	}))
}

func (l *leg) read() []byte {
	b, err := os.ReadFile(l.name())
	if err != nil {
		l.t.Fatal(err)
	}
	return b
}

// put replaces the file and reads it with a store that knows nothing of it.
func (l *leg) put(b []byte) (*runstore.Record, error) {
	l.t.Helper()
	if err := os.WriteFile(l.name(), b, 0o600); err != nil {
		l.t.Fatal(err)
	}
	fresh, err := runstore.OpenDir(l.dir)
	if err != nil {
		l.t.Fatal(err)
	}
	l.store = fresh
	return fresh.Get(context.Background(), "run_1")
}

// TestAppendsOnlyWhatIsNew: what a settled call adds to the file does not depend on
// what is there.
func TestAppendsOnlyWhatIsNew(t *testing.T) {
	l := newLeg(t)
	small := l.sizes[4] - l.sizes[3]
	l.settle(2, 2, `"`+strings.Repeat("x", 100_000)+`"`)
	l.settle(2, 1, `"fifth"`)
	if again := l.sizes[6] - l.sizes[5]; again != small {
		t.Errorf("an answer of the same size took %d bytes, and %d after a large one", small, again)
	}
}

// TestDamagedTail changes each byte, leaves frames out, moves and repeats them, and
// takes them from another run: all of it is refused.
func TestDamagedTail(t *testing.T) {
	l := newLeg(t)
	whole := l.read()
	refused := func(what string, b []byte) {
		t.Helper()
		if _, err := l.put(b); !errors.Is(err, runstore.ErrCorrupt) && !errors.Is(err, runstore.ErrFormat) {
			t.Fatalf("%s: %v, want ErrCorrupt", what, err)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x20
		refused("byte "+strconv.Itoa(i)+" changed", b)
	}
	part := func(i int) []byte { return whole[l.sizes[i-1]:l.sizes[i]] }
	first := whole[:l.sizes[0]]
	refused("a frame left out", bytes.Join([][]byte{first, part(2), part(3)}, nil))
	refused("frames in another order", bytes.Join([][]byte{first, part(2), part(1)}, nil))
	refused("a frame twice", bytes.Join([][]byte{first, part(1), part(1)}, nil))
	refused("the record left out", bytes.Join([][]byte{whole[:8], part(1)}, nil))
	other := newLeg(t)
	refused("frames under another key", bytes.Join([][]byte{first, other.read()[other.sizes[0]:]}, nil))
	r := record("run_2")
	if err := runstore.Alone(l.store).Put(context.Background(), r, 0); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(l.dir, "run_2.run")
	begun, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := runstore.Alone(l.store).PutCalls(context.Background(), "run_2", 1, []runstore.Call{{ID: 1, State: runstore.CallSettled}}); err != nil {
		t.Fatal(err)
	}
	grown, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	refused("a frame of another run", bytes.Join([][]byte{first, grown[len(begun):]}, nil))
}

// TestLegsAreCompacted: a run that lasts long does not fill the disk.
func TestLegsAreCompacted(t *testing.T) {
	l := newLeg(t)
	ctx := context.Background()
	r := record("run_1")
	r.Image = bytes.Repeat([]byte{7}, 10_000)
	for i := range 80 {
		r.Generation = uint64(3 + i)
		if err := runstore.Alone(l.store).Checkpoint(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := runstore.Alone(l.store).PutCalls(ctx, "run_1", r.Generation, []runstore.Call{{ID: 1, State: runstore.CallSettled, Answer: json.RawMessage(`"x"`)}}); err != nil {
			t.Fatal(err)
		}
		if n := len(l.read()); n > 110_000 {
			t.Fatalf("the file has %d bytes after %d checkpoints", n, i)
		}
	}
	r.Generation = 1000
	if err := runstore.Alone(l.store).Put(ctx, r, 0); err != nil {
		t.Fatal(err)
	}
	got, err := l.store.Get(ctx, "run_1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, got, anyEpoch); d != "" {
		t.Errorf("record (-want +got):\n%s", d)
	}
}

// TestCheckpointsOfAnotherWriter: a store that has written to a run notices that
// another one has done so since.
func TestCheckpointsOfAnotherWriter(t *testing.T) {
	l := newLeg(t)
	ctx := context.Background()
	other, err := runstore.OpenDir(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		s := []*runstore.Dir{l.store, other}[i%2]
		r := record("run_1")
		r.Generation = uint64(10 + i)
		if err := runstore.Alone(s).Checkpoint(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := runstore.Alone(s).PutCalls(ctx, "run_1", r.Generation, []runstore.Call{{ID: 1, State: runstore.CallSettled, OK: true}}); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(ctx, "run_1")
		if err != nil || got.Generation != r.Generation || !got.Calls[0].OK {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
}

// TestTooLarge: what could not be read back is not written.
func TestTooLarge(t *testing.T) {
	l := newLeg(t)
	before := l.read()
	r := record("run_1")
	r.Generation, r.Image = 3, make([]byte, 256<<20+1)
	ctx := context.Background()
	for _, err := range []error{
		runstore.Alone(l.store).Put(ctx, r, 0), runstore.Alone(l.store).Checkpoint(ctx, r),
		runstore.Alone(l.store).PutCalls(ctx, "run_1", 2, []runstore.Call{{ID: 1, Answer: r.Image}}),
	} {
		if !errors.Is(err, runstore.ErrTooLarge) {
			t.Errorf("got %v, want ErrTooLarge", err)
		}
	}
	if !bytes.Equal(before, l.read()) {
		t.Error("something was written all the same")
	}
	l.settle(2, 2, `"and on"`)
}
