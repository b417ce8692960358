package drive

import (
	"errors"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestAClosingHostKeepsWhatIsRunning: the limit of suspended runs is for those that
// programs ask for.
func TestAClosingHostKeepsWhatIsRunning(t *testing.T) {
	t.Parallel()
	for _, closing := range []bool{false, true} {
		store := &runstore.Memory{}
		other, _ := newDrivenRun(t, store, codemode.Settings{})
		r, home := newDrivenRun(t, store, codemode.Settings{MaxSuspended: 1})
		home.closing = closing
		var f *codemode.Error
		other.Record.Exclusive(func() { _, _, f = other.driver.park([]byte("image"), nil) })
		if f != nil {
			t.Fatal(f)
		}
		r.Record.Exclusive(func() { _, _, f = r.driver.park([]byte("image"), nil) })
		if (f == nil) != closing || f != nil && f.Reason != codemode.ReasonTooManySuspended {
			t.Errorf("closing %v: %v", closing, f)
		}
	}
}

// TestASuspendedRunEndsWithItsTime, whether it was suspended once or again.
func TestASuspendedRunEndsWithItsTime(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		store := &runstore.Memory{}
		r, _ := newDrivenRun(t, store, codemode.Settings{})
		park := func(ttl time.Duration) {
			t.Helper()
			r.Settings.SnapshotTTL = ttl
			var f *codemode.Error
			r.Record.Exclusive(func() { _, _, f = r.driver.park([]byte("image"), nil) })
			if f != nil {
				t.Fatal(f)
			}
		}
		if again {
			park(time.Hour)
			if f := r.activate(); f != nil {
				t.Fatal(f)
			}
		}
		park(time.Millisecond)
		select {
		case <-r.Gone:
		case <-time.After(10 * time.Second):
			t.Fatalf("suspended again: %v; it goes on", again)
		}
		if _, err := store.Get(t.Context(), r.ID); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("suspended again: %v; the store says %v", again, err)
		}
	}
}
