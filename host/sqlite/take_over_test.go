package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/internal/takeover"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/pluginstorage"
)

var session = codemode.Session{AgentID: "a", SessionID: "s"}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const approvalID = "apr_0123456789abcdef0123456789abcdef"

// manyRuns is how many suspended runs there are, apart from those with names.
const manyRuns = 50

// oldState makes a state directory as earlier versions have it.
func oldState(t testing.TB) (dir string) {
	t.Helper()
	ctx := t.Context()
	dir = t.TempDir()
	at := func(path string) string { return filepath.Join(dir, path) }
	store := must(runstore.OpenDir(at("runs")))(t)
	put := func(r *runstore.Record) runstore.Claim { return must(store.Create(ctx, r, 0))(t) }
	for n := range manyRuns {
		put(runstoretest.Record(fmt.Sprint("run_", n), 1)).Release()
	}
	c := put(runstoretest.Record("run_answered", 1))
	check(t, c.PutCalls(ctx, 1, runstoretest.Settled(1, `"yes"`)))
	c.Release()
	quiet := runstoretest.Record("run_woken", 1)
	quiet.Calls = quiet.Calls[1:]
	put(quiet).Release()
	check(t, store.Wake(ctx, "run_woken"))
	over := runstoretest.Record("run_expired", 1)
	over.Expires = time.Now().Add(-time.Hour)
	put(over).Release()
	moving := runstoretest.Record("run_moving", 1)
	moving.Moving = "to another state"
	put(moving).Release()
	put(runstoretest.Record("run_damaged", 1)).Release()
	check(t, os.WriteFile(at("runs/run_damaged.run"), []byte("damaged"), 0o600))
	c = put(runstoretest.Record("run_ended", 1))
	check(t, c.End(ctx, runstoretest.Ended("run_ended", `{"status":"completed"}`)))
	c.Release()
	j := must(store.OpenEffects(ctx, "run_ended", &runstore.Effects{Session: session, Created: time.Now(), Expires: time.Now().Add(time.Hour)}))(t)
	check(t, j.Put(true, runstore.Effect{Number: 1, CallID: "1", Tool: "t", State: runstore.EffectDone, Inverse: "u"}))
	j.Close()

	approvals := must(policy.OpenApprovals(at("approvals"), store))(t)
	check(t, approvals.Add(ctx, &policy.Approval{ID: approvalID, State: policy.StatePending, Severity: policy.SeverityInfo, Allowed: []policy.Decision{policy.AllowOnce}, RunID: "run_1", Store: store.Identity(), Session: session, Created: time.Now(), Expires: time.Now().Add(time.Hour)}))
	saved := must(programs.OpenDir(at("programs"), store))(t)
	check(t, saved.Put(ctx, &programs.Program{Name: "report", Language: "javascript", Code: "return 1", Input: json.RawMessage(`{}`), For: "session", Owner: session, Saved: time.Now()}, false))
	check(t, os.MkdirAll(at("mcp-pins"), 0o700))
	check(t, os.WriteFile(at("mcp-pins/github.json"), []byte(`{"tools":{}}`), 0o600))
	kv := pluginstorage.Open(at("plugins/.storage/notes.kv"), func(err error) { t.Error(err) })
	check(t, os.MkdirAll(at("plugins/.storage"), 0o700))
	for range 3 {
		must(kv.Set(ctx, "k", []byte("v"), nil))(t)
	}
	check(t, kv.Close())
	told := must(trajectory.OpenDir(at("trajectory"), trajectory.DirOptions{}))(t)
	check(t, told.Record(trajectory.Event{Kind: trajectory.RunStarted, Time: time.Now(), RunID: "run_1", Session: session}))
	check(t, told.Close())
	return dir
}

// takeOver opens a state, which takes over what is there, and closes it.
func takeOver(ctx context.Context, dir string) error {
	d, err := sqlite.Open(ctx, dir, sqlite.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return d.Close()
}

// hasAll fails the test unless the database has all of oldState.
func hasAll(t testing.TB, dir string) {
	t.Helper()
	ctx := t.Context()
	d := must(sqlite.Open(t.Context(), dir, sqlite.Options{}))(t)
	defer func() { check(t, d.Close()) }()
	for n := range manyRuns {
		id := fmt.Sprint("run_", n)
		r := must(d.Get(ctx, id))(t)
		if want := runstoretest.Record(id, 1); !cmp.Equal(want.Calls, r.Calls) || !cmp.Equal(want.Image, r.Image) {
			t.Errorf("%s is %+v", id, r)
		}
	}
	if r := must(d.Get(ctx, "run_answered"))(t); string(r.Calls[0].Answer) != `"yes"` {
		t.Errorf("the answer is %s", r.Calls[0].Answer)
	}
	due := must(d.Due(ctx, 1000))(t)
	if !slices.Contains(due, "run_woken") || !slices.Contains(due, "run_answered") {
		t.Errorf("due are %v", due)
	}
	c := must(d.Claim(ctx, "run_woken"))(t)
	if c.Epoch() < 3 {
		t.Errorf("the epoch of a run that was claimed before is %d", c.Epoch())
	}
	c.Release()
	for _, id := range []string{"run_damaged", "run_expired", "run_moving"} {
		if _, err := d.Get(ctx, id); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if e := must(d.Ended(ctx, "run_ended"))(t); string(e.Result) != `{"status":"completed"}` {
		t.Errorf("the result is %s", e.Result)
	}
	if j := must(d.Effects(ctx, "run_ended"))(t); len(j.Effects) != 1 || j.Session != session {
		t.Errorf("the effects are %+v", j)
	}
	if a := must(d.Approvals().Get(ctx, approvalID))(t); a.RunID != "run_1" || a.Store != d.Identity() {
		t.Errorf("the approval is %+v", a)
	}
	if list := must(d.Programs().List(ctx))(t); len(list) != 1 || list[0].Name != "report" {
		t.Errorf("the programs are %+v", list)
	}
	pins := must(d.Copied().Documents(statedocs.Pins))(t)
	if b := must(pins.Read(ctx, "github.json"))(t); string(b) != `{"tools":{}}` {
		t.Errorf("the pins are %s", b)
	}
	e := must(d.PluginStorage("notes", func(err error) { t.Error(err) }).Get(ctx, "k"))(t)
	if string(e.Value) != "v" || e.Revision != 3 {
		t.Errorf("the plugin has stored %+v", e)
	}
	told := must(d.Trajectory(trajectory.DirOptions{}))(t)
	defer func() { check(t, told.Close()) }()
	if list := must(told.List(session))(t); len(list) != 1 || list[0].RunID != "run_1" {
		t.Errorf("the trajectories are %+v", list)
	}
	for _, path := range []string{"runs", "approvals", "trajectory", "plugins/.storage"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
			t.Errorf("%s is still there", path)
		}
		if _, err := os.Stat(filepath.Join(dir, takeover.Folder, path)); err != nil {
			t.Error(err)
		}
	}
}

// TestTakeOver: all that was there is there, once, and a second time changes nothing.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	dir := oldState(t)
	for range 2 {
		check(t, takeOver(t.Context(), dir))
	}
	hasAll(t, dir)
	check(t, takeOver(t.Context(), t.TempDir()))
}

// TestATakeOverIsKilled at any point: the next one has all.
func TestATakeOverIsKilled(t *testing.T) {
	t.Parallel()
	exe := must(os.Executable())(t)
	for _, when := range []string{"takeover.lock", "state.key", "state.db", "trajectory.db", "trajectory.db-wal", "state.db-wal", "before-database", "before-database/approvals"} {
		t.Run(filepath.Base(when), func(t *testing.T) {
			t.Parallel()
			dir := oldState(t)
			cmd := exec.CommandContext(t.Context(), exe)
			cmd.Env = append(os.Environ(), takerKey+"="+dir)
			check(t, cmd.Start())
			for ended := false; !ended; {
				if _, err := os.Stat(filepath.Join(dir, when)); err == nil {
					break
				}
				_, err := os.Stat(filepath.Join(dir, "runs"))
				ended = err != nil
			}
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
			check(t, takeOver(t.Context(), dir))
			hasAll(t, dir)
		})
	}
}

// TestAnEarlierVersionRuns: what it has is not taken, and it is told.
func TestAnEarlierVersionRuns(t *testing.T) {
	t.Parallel()
	dir := oldState(t)
	store := must(runstore.OpenDir(filepath.Join(dir, "runs")))(t)
	c := must(store.Claim(t.Context(), "run_1"))(t)
	err := takeOver(t.Context(), dir)
	if !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("got %v", err)
	}
	check(t, c.PutCalls(t.Context(), 1, []runstore.Call{{ID: 2, State: runstore.CallSettled, Answer: json.RawMessage(`2`)}}))
	c.Release()
	check(t, takeOver(t.Context(), dir))
	d := must(sqlite.Open(t.Context(), dir, sqlite.Options{}))(t)
	defer func() { check(t, d.Close()) }()
	if r := must(d.Get(t.Context(), "run_1"))(t); string(r.Calls[1].Answer) != "2" {
		t.Errorf("the answer is %s", r.Calls[1].Answer)
	}
}

// TestAStorageThatCannotBeRead now is not lost: nothing is taken over. One that is damaged stays
// in the folder, and all else is taken over.
func TestAStorageThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := oldState(t)
	storage := func(name string) string { return filepath.Join(dir, "plugins/.storage", name) }
	check(t, os.Mkdir(storage("blocked.kv"), 0o700))
	if err := takeOver(t.Context(), dir); err == nil {
		t.Error("it was taken over without the storage")
	}
	if _, err := os.Stat(filepath.Join(dir, "runs")); err != nil {
		t.Error(err)
	}
	check(t, os.Remove(storage("blocked.kv")))
	check(t, os.WriteFile(storage("damaged.kv"), []byte("no storage at all, and long enough"), 0o600))
	check(t, takeOver(t.Context(), dir))
	hasAll(t, dir)
	if _, err := os.Stat(filepath.Join(dir, takeover.Folder, "plugins/.storage/damaged.kv")); err != nil {
		t.Error(err)
	}
}
