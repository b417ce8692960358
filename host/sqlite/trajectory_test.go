package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/host/trajectory"
)

var (
	ada   = codemode.Session{AgentID: "agent", SessionID: "ada", TurnID: "turn"}
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func openTrajectory(t testing.TB, dir string, o trajectory.DirOptions) *sqlite.Trajectory {
	t.Helper()
	d, err := open(t, dir, sqlite.Options{}).Trajectory(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// story is a run of ada with one call.
func story(runID string) []trajectory.Event {
	at := func(ms int, e trajectory.Event) trajectory.Event {
		e.RunID, e.Session, e.Time = runID, ada, epoch.Add(time.Duration(ms)*time.Millisecond)
		return e
	}
	return []trajectory.Event{
		at(0, trajectory.Event{Kind: trajectory.RunStarted, CallID: "toolu_1", Language: "javascript", InputBytes: 120}),
		at(4, trajectory.Event{Kind: trajectory.CallEnded, CallID: "bridge:call:1", Method: "call", ToolID: "quoin:core:a", ToolName: "a", Outcome: trajectory.OutcomeOK, OutputBytes: 90}),
		at(10, trajectory.Event{Kind: trajectory.RunEnded, CallID: "toolu_1", Status: "failed", Code: "internal_error"}),
	}
}

func record(t testing.TB, s trajectory.Sink, list ...trajectory.Event) {
	t.Helper()
	for _, e := range list {
		if err := s.Record(e); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTrajectoryKeepsEveryEvent reads back what two processes have recorded of a run.
func TestTrajectoryKeepsEveryEvent(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	one, other := openTrajectory(t, dir, trajectory.DirOptions{}), openTrajectory(t, dir, trajectory.DirOptions{})
	want := story("run_1")
	record(t, one, want[:2]...)
	record(t, other, want[2:]...)
	r, err := one.Read(ada, "run_1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r.Events); diff != "" || r.Torn != nil || r.Session != ada {
		t.Errorf("torn %v, session %+v, events (-want +got):\n%s", r.Torn, r.Session, diff)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, "trajectory.db"): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", path, st.Mode(), err)
		}
	}
}

// TestTrajectoriesOfOtherSessions asks for a run as another session.
func TestTrajectoriesOfOtherSessions(t *testing.T) {
	t.Parallel()
	d := openTrajectory(t, t.TempDir(), trajectory.DirOptions{})
	record(t, d, story("run_1")...)
	for _, s := range []codemode.Session{{}, {AgentID: "agent", SessionID: "bob"}, {SessionID: "ada"}} {
		if _, err := d.Read(s, "run_1"); !errors.Is(err, trajectory.ErrWrongSession) {
			t.Errorf("%+v: %v", s, err)
		}
		if list, err := d.List(s); err != nil || len(list) != 0 {
			t.Errorf("%+v: %v %v", s, list, err)
		}
	}
	next := ada
	next.TurnID = "another turn"
	list, err := d.List(next)
	if err != nil || len(list) != 1 || list[0].RunID != "run_1" || list[0].Status != "failed" {
		t.Errorf("the next turn: %+v, %v", list, err)
	}
	for _, id := range []string{"run_2", "", "../run_1", strings.Repeat("x", 129)} {
		if _, err := d.Read(ada, id); !errors.Is(err, trajectory.ErrUnknownRun) {
			t.Errorf("%q: %v", id, err)
		}
		if e := (trajectory.Event{RunID: id}); id != "run_2" && d.Record(e) == nil {
			t.Errorf("%q was recorded", id)
		}
	}
}

// TestAFullTrajectorySaysWhatIsMissing keeps how the run ended.
func TestAFullTrajectorySaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openTrajectory(t, dir, trajectory.DirOptions{MaxFileBytes: 4 << 10})
	all := story("run_1")
	record(t, d, all[0])
	const calls = 200
	for range calls {
		record(t, d, all[1])
	}
	record(t, d, all[2])
	r, err := d.Read(ada, "run_1")
	if err != nil {
		t.Fatal(err)
	}
	kept, missed := 0, 0
	for _, e := range r.Events {
		missed += e.Missed
		if e.Kind == trajectory.CallEnded {
			kept++
		}
	}
	if kept == 0 || kept+missed != calls || r.Events[len(r.Events)-1].Kind != trajectory.RunEnded {
		t.Errorf("%d kept and %d missed of %d; the last is %+v", kept, missed, calls, r.Events[len(r.Events)-1])
	}
	for range 2000 { // not even the events of the run itself fill a disk
		record(t, d, all[0])
	}
	if r, err = d.Read(ada, "run_1"); err != nil || len(r.Events) > 1000 {
		t.Errorf("%d events, %v", len(r.Events), err)
	}
}

// TestTrajectoriesAreSwept keeps to the bounds, and removes the oldest first.
func TestTrajectoriesAreSwept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openTrajectory(t, dir, trajectory.DirOptions{MaxRuns: 3, MaxAge: time.Hour})
	for i := range 5 {
		record(t, d, story(fmt.Sprint("run_", i))...)
	}
	left := func() (ids []string) {
		t.Helper()
		list, err := d.List(ada)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			ids = append(ids, s.RunID)
		}
		slices.Sort(ids)
		return ids
	}
	if err := d.Sweep(time.Now()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"run_2", "run_3", "run_4"}, left()); diff != "" {
		t.Errorf("too many (-want +got):\n%s", diff)
	}
	small := openTrajectory(t, dir, trajectory.DirOptions{MaxTotalBytes: 1000})
	if err := small.Sweep(time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, []string{"run_4"}) {
		t.Errorf("in 1,000 bytes there are %v", got)
	}
	if err := d.Sweep(time.Now().Add(2 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := left(); len(got) != 0 {
		t.Errorf("after their time there are %v", got)
	}
}

// TestTrajectoriesAtOnce has writers of two processes.
func TestTrajectoriesAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sinks := []*sqlite.Trajectory{openTrajectory(t, dir, trajectory.DirOptions{}), openTrajectory(t, dir, trajectory.DirOptions{})}
	const each = 100
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range each {
				e := story("run_1")[n%3]
				if err := sinks[i%2].Record(e); err != nil {
					t.Error(err)
				}
				e.RunID = fmt.Sprintf("run_%d_%d", i, n)
				if err := sinks[i%2].Record(e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if r, err := sinks[0].Read(ada, "run_1"); err != nil || len(r.Events) != 8*each || r.Torn != nil {
		t.Errorf("%d events, torn %v, %v", len(r.Events), r.Torn, err)
	}
}
