package runs

import (
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
		e := newTestEngine(t, store, nil)
		e.settings.MaxSuspended = 1
		stored(t, store, runstore.Record{})
		r := newTestRun(t, e)
		r.driver.limit(t.Context(), time.Minute, time.Minute)
		e.closing = closing
		var f *failure
		r.record.exclusive(func() { _, _, f = r.driver.park([]byte("image"), nil) })
		if (f == nil) != closing || f != nil && f.Reason != codemode.ReasonTooManySuspended {
			t.Errorf("closing %v: %v", closing, f)
		}
	}
}
