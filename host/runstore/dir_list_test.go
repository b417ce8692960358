package runstore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/runstore"
)

// TestAListReadsWhatHasChanged: a list reads no file again that it has read, and sees each
// write, whichever process made it.
func TestAListReadsWhatHasChanged(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := newLeg(t)
	lists := func(what string, want *runstore.Record) {
		t.Helper()
		list, err := l.store.List(ctx)
		if want == nil {
			if err != nil || len(list) != 0 {
				t.Errorf("%s: %d records, %v", what, len(list), err)
			}
			return
		}
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %d records, %v", what, len(list), err)
		}
		without := *want
		without.Image, without.ImageBytes = nil, len(want.Image)
		if d := cmp.Diff(&without, list[0], anyEpoch); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
		list[0].Calls[0].Answer = []byte("the caller's own")
	}
	newest := func() *runstore.Record { return l.states[len(l.states)-1] }
	lists("a run", newest())

	was, info := l.read(), stat(t, l.name())
	damaged := slices.Clone(was)
	damaged[len(damaged)-1] ^= 1
	must(t, os.WriteFile(l.name(), damaged, 0o600))
	must(t, os.Chtimes(l.name(), info.ModTime(), info.ModTime()))
	if _, err := l.store.Get(ctx, "run_1"); !errors.Is(err, runstore.ErrCorrupt) {
		t.Fatalf("a damaged run: %v", err)
	}
	lists("a file that looks as it did is not read", newest())
	must(t, os.WriteFile(l.name(), was, 0o600))
	must(t, os.Chtimes(l.name(), info.ModTime(), info.ModTime()))

	other, err := runstore.OpenDir(l.dir)
	must(t, err)
	here := l.store
	l.store = other
	l.settle(2, 1, `"from another process"`)
	l.store = here
	lists("an answer", newest())
	torn := append(l.read(), bytes.Repeat([]byte{0}, 100)...)
	must(t, os.WriteFile(l.name(), torn, 0o600))
	lists("an answer of which half was written", newest())
	l.settle(2, 2, `"again"`)
	lists("the same answer", newest())
	next := record("run_1")
	next.Generation, next.Image, next.Expires = 3, []byte("image 3"), time.Now().Add(50*time.Millisecond)
	l.done(runstore.Alone(l.store).Put(ctx, next, 0))
	lists("another image", newest())
	time.Sleep(time.Until(next.Expires)) // that it passes is what the list has to see
	lists("a run that has expired", nil)
	must(t, runstore.Alone(l.store).Delete(ctx, "run_1"))
	lists("no run", nil)
}

func stat(t *testing.T, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	must(t, err)
	return info
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
