package trajectory_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/trajectory"
)

func TestTree(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var r trajectory.Recorder
	r.Observe(trajectory.Event{RunID: "a", Method: "call", ToolID: "quoin:core:echo", Start: start.Add(3 * time.Millisecond), Duration: time.Millisecond, Outcome: trajectory.OutcomeError, Code: "timeout"})
	r.Observe(trajectory.Event{RunID: "a", Method: "namespace", Via: "Issues.list", ToolID: "quoin:issues:issues_list", Start: start.Add(time.Millisecond), Duration: 1500 * time.Microsecond, Outcome: trajectory.OutcomeOK})
	r.Observe(trajectory.Event{RunID: "b", Method: "call", Start: start, Outcome: trajectory.OutcomeOK})
	var b strings.Builder
	if err := trajectory.WriteTree(&b, "exec completed", start, 5*time.Millisecond, r.Events("a")); err != nil {
		t.Fatal(err)
	}
	want := `exec completed  5ms
├─ Issues.list  quoin:issues:issues_list  +1ms  1.5ms  ok
└─ call         quoin:core:echo           +3ms  1ms    error (timeout)
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("tree (-want +got):\n%s", d)
	}
	if n := len(r.Events("")); n != 3 {
		t.Errorf("%d events of all runs, want 3", n)
	}
}

func TestObserveConcurrently(t *testing.T) {
	t.Parallel()
	var r trajectory.Recorder
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				r.Observe(trajectory.Event{RunID: "a"})
			}
		})
	}
	wg.Wait()
	if n := len(r.Events("a")); n != 800 {
		t.Errorf("%d events, want 800", n)
	}
}
