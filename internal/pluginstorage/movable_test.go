package pluginstorage

import (
	"errors"
	"path/filepath"
	"testing"
)

// TestSwap: a storage takes the contents of another one, keeps the revisions, uses none
// again, and refuses contents that are not what the caller has seen.
func TestSwap(t *testing.T) {
	file := func() Movable {
		f := Open(filepath.Join(t.TempDir(), "p.kv"), func(err error) { t.Error(err) })
		t.Cleanup(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		})
		return f
	}
	for name, pair := range map[string][2]Movable{
		"file to log": {file(), shared(t, &memoryLog{})}, "log to file": {shared(t, &memoryLog{}), file()},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := pair[0], pair[1]
			set(t, from, "gone", "0")
			newest := set(t, from, "a", "1")
			if err := from.Delete(t.Context(), "gone", nil); err != nil {
				t.Fatal(err)
			}
			got, err := from.Contents(t.Context())
			if err != nil || got.Len() != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			if err := to.Swap(t.Context(), got, Contents{}); !errors.Is(err, ErrChanged) {
				t.Errorf("a swap of what is not there: %v", err)
			}
			if err := errors.Join(to.Swap(t.Context(), Contents{}, got), from.Swap(t.Context(), got, Contents{})); err != nil {
				t.Fatal(err)
			}
			want(t, to, "a", "1")
			if e, err := to.Get(t.Context(), "a"); err != nil || e.Revision != newest {
				t.Errorf("the revision is %d, %v; it was %d", e.Revision, err, newest)
			}
			if left, err := from.Contents(t.Context()); err != nil || left.Len() > 0 {
				t.Errorf("left %v, %v", left, err)
			}
			if revision := set(t, from, "b", "2"); revision <= newest {
				t.Errorf("revision %d is used again", revision)
			}
			if err := from.Swap(t.Context(), got, Contents{}); !errors.Is(err, ErrChanged) {
				t.Errorf("a swap of what has changed: %v", err)
			}
		})
	}
}
