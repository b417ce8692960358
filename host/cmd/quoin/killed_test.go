package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/statecmd"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/internal/statemove"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/durable"
)

// diesAt makes a command of the tests end by SIGKILL when it waits for the disk for that
// time: what it has written is there, and nothing after it has happened.
const diesAt = "QUOIN_TEST_DIES_AT"

func dieAtWrite() {
	at, err := strconv.ParseInt(os.Getenv(diesAt), 10, 64)
	if err != nil {
		return // this one is to live
	}
	var left atomic.Int64
	left.Store(at)
	durable.Sync = func(*os.File) error {
		if left.Add(-1) != 0 {
			return nil // no test takes the power away
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			return err
		}
		select {} // nothing more happens here
	}
}

// killed runs a command that is killed at a write, and reports whether it was: it has
// completed where it makes fewer writes.
func killed(t *testing.T, at int, args ...string) bool {
	t.Helper()
	cmd := osexec.Command("quoin", args...)
	cmd.Env = append(os.Environ(), fmt.Sprint(diesAt, "=", at))
	said, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code > 0 {
		t.Fatalf("write %d: exit code %d, %v\n%s", at, code, err, said)
	}
	return err != nil
}

// repeated runs the command again, in this process. Nothing is left but what has arrived.
func repeated(t *testing.T, args ...string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), args, strings.NewReader(""), &out, &out)
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, " left: ") && !strings.HasSuffix(line, " left: it is there already\n") {
			t.Errorf("%q says %s", args, line)
		}
	}
	if code != 0 && !strings.Contains(out.String(), " left: ") {
		t.Errorf("%q: exit code %d\n%s", args, code, &out)
	}
}

func openStateDir(t *testing.T, dir string) statemove.State {
	t.Helper()
	o := app.Flags{State: dir}
	s, err := statecmd.OpenOther(&o, t.Context(), &configfile.File{}, false, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fillStateDir stores one of everything that hosts share.
func fillStateDir(t *testing.T, dir string) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s, ctx, now := openStateDir(t, dir), t.Context(), time.Now()
	store := s.Runs.(*runstore.Dir)
	session, expires := codemode.Session{SessionID: "s"}, now.Add(time.Hour)

	const asked = "apr_0123456789abcdef0123456789abcdef"
	claim, err := store.Create(ctx, &runstore.Record{
		ID: "run_1", Format: runstore.FormatVersion, Generation: 3, GuestBuild: "ab", Session: session, Created: now, Expires: expires, Image: []byte("image"),
		Calls: []runstore.Call{{ID: 1, Method: "call", State: runstore.CallApproval, Approval: asked, Args: json.RawMessage(`{}`)}},
	}, 0)
	ok(err)
	claim.Release()
	ok(s.Approvals.Add(ctx, &policy.Approval{
		ID: asked, State: policy.StatePending, Severity: policy.SeverityWarning, Allowed: []policy.Decision{policy.AllowOnce, policy.Deny},
		RunID: "run_1", Store: store.Identity(), Session: session, Created: now, Expires: expires,
	}))
	_, err = s.Approvals.Resolve(ctx, asked, policy.Resolution{State: policy.StateAllowed, Decision: policy.AllowOnce, By: "alice", At: now})
	ok(err)
	journal, err := store.OpenEffects(ctx, "run_1", &runstore.Effects{RunID: "run_1", Session: session, Created: now, Expires: expires})
	ok(err)
	ok(journal.Put(true, runstore.Effect{Number: 1, CallID: "c", State: runstore.EffectDone, Inverse: "i", Input: json.RawMessage(`1`), At: now}))
	journal.Close()
	claim, err = store.Create(ctx, &runstore.Record{ID: "run_2", Format: runstore.FormatVersion, Generation: 1, Session: session, Created: now, Expires: expires}, 0)
	ok(err)
	ok(claim.End(ctx, &runstore.Ended{ID: "run_2", Session: session, Expires: expires, Result: []byte(`{"status":"completed"}`)}))
	claim.Release()

	ok(s.Approvals.Remember(ctx, policy.Grant{ID: "grt_0123456789abcdef0123456789abcdef", Severity: policy.SeverityWarning, Created: now}))
	saved, err := programs.OpenDir(filepath.Join(dir, "programs"), store)
	ok(err)
	ok(saved.Put(ctx, &programs.Program{Name: "weekly", For: programs.ForEveryone, Language: "js", Code: "return 1"}, false))
	ok(portable(t, s, "sign-in").Store.Create(ctx, "tracker.grant", []byte(`{"Access":"token"}`), time.Time{}))
	ok(portable(t, s, "pins").Store.Create(ctx, "tracker.json", []byte(`{"format":1}`), time.Time{}))
	storage, end := s.Storages.Open("notes")
	_, err = storage.Set(ctx, "key", []byte("value"), nil)
	ok(errors.Join(err, end()))
}

// portable are the documents of a kind.
func portable(t *testing.T, s statemove.State, kind string) documents.Portable {
	t.Helper()
	i := slices.IndexFunc(s.Documents, func(p documents.Portable) bool { return p.Kind == kind })
	if i < 0 {
		t.Fatalf("no documents are called %q", kind)
	}
	return s.Documents[i]
}

// usableIn is what hosts of a state directory can use, a line each.
func usableIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	s, ctx := openStateDir(t, dir), t.Context()
	for _, p := range s.Documents {
		docs, err := p.Store.All(ctx, p.Ext)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range docs {
			if plain, mark := documents.Unmark(d.Content); d.Err != nil {
				t.Error(d.Err)
			} else if mark == "" {
				out = append(out, fmt.Sprintf("%s %s %s", p.Kind, d.Name, plain))
			}
		}
	}
	storage, end := s.Storages.Open("notes")
	if e, err := storage.Get(ctx, "key"); err == nil && e.Revision > 0 {
		out = append(out, fmt.Sprintf("storage %s", e.Value))
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	store := s.Runs.(*runstore.Dir)
	if rec, err := store.Get(ctx, "run_1"); err == nil && rec.Moving == "" {
		a, err := s.Approvals.Get(ctx, rec.Calls[0].Approval)
		if err != nil || a.Store != store.Identity() {
			t.Errorf("a run without its approval: %+v, %v", a, err)
		} else {
			out = append(out, fmt.Sprintf("run %s %s by %s", rec.Image, a.State, a.By))
		}
	}
	if e, err := store.Ended(ctx, "run_2"); err == nil {
		out = append(out, fmt.Sprintf("result %s", e.Result))
	}
	if j, err := store.Effects(ctx, "run_1"); err == nil {
		for _, e := range j.Effects {
			if e.State == runstore.EffectDone {
				out = append(out, fmt.Sprintf("effect %d to undo", e.Number))
			}
		}
	}
	slices.Sort(out)
	return out
}

// copyStateDir copies with the modes of keys.
func copyStateDir(t *testing.T, from string) (to string) {
	t.Helper()
	to = filepath.Join(t.TempDir(), "state")
	if out, err := osexec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return to
}

// TestKilledMoves: whichever write the command is killed at, nothing counts in both states
// that must not, and the same command brings everything there once.
func TestKilledMoves(t *testing.T) {
	t.Parallel()
	full, empty := filepath.Join(t.TempDir(), "full"), filepath.Join(t.TempDir(), "empty")
	fillStateDir(t, full)
	openStateDir(t, empty)
	all := usableIn(t, full)
	if len(all) != 8 {
		t.Fatalf("there is %q", all)
	}
	for at, more := 1, true; more; at++ {
		from, to := copyStateDir(t, full), copyStateDir(t, empty)
		args := []string{"state", "move", "--config", "none", "--state", from, "--to", to}
		more = killed(t, at, args...)
		there := usableIn(t, to)
		for _, what := range usableIn(t, from) {
			kind, _, _ := strings.Cut(what, " ") // a result is the same twice
			if slices.Contains(there, what) && !slices.Contains([]string{"pins", "storage", "result"}, kind) {
				t.Errorf("write %d: both states have %s", at, what)
			}
		}
		repeated(t, args...)
		if got := usableIn(t, to); !slices.Equal(got, all) {
			t.Errorf("write %d: the destination has %q, want %q", at, got, all)
		}
		if got := usableIn(t, from); len(got) != 1 || !strings.HasPrefix(got[0], "pins ") {
			t.Errorf("write %d: the source has %q", at, got)
		}
		if !more && at < 30 {
			t.Errorf("only %d writes", at)
		}
	}
}

// TestKilledImports: whichever write the command is killed at, the same command takes the
// rest, once.
func TestKilledImports(t *testing.T) {
	t.Parallel()
	full, backup, empty := filepath.Join(t.TempDir(), "full"), filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "empty")
	fillStateDir(t, full)
	openStateDir(t, empty)
	var out bytes.Buffer
	if code := run(t.Context(), []string{"state", "export", "--config", "none", "--state", full, "--to", backup}, strings.NewReader(""), &out, &out); code != 1 {
		t.Fatalf("exit code %d, want 1 for the journal of effects\n%s", code, &out)
	}
	all := slices.DeleteFunc(usableIn(t, full), func(what string) bool { return strings.HasPrefix(what, "effect ") })
	before := usableIn(t, backup)
	for at, more := 1, true; more; at++ {
		from, to := copyStateDir(t, backup), copyStateDir(t, empty)
		args := []string{"state", "import", "--config", "none", "--state", to, "--from", from}
		more = killed(t, at, args...)
		repeated(t, args...)
		if got := usableIn(t, to); !slices.Equal(got, all) {
			t.Errorf("write %d: there is %q, want %q", at, got, all)
		}
		if got := usableIn(t, from); !slices.Equal(got, before) {
			t.Errorf("write %d: the export has %q, want %q", at, got, before)
		}
		if !more && at < 15 {
			t.Errorf("only %d writes", at)
		}
	}
}

// TestKilledSaves: whichever write quoin programs save is killed at, the name has the old
// program or the new one, whole, and the same command saves it.
func TestKilledSaves(t *testing.T) {
	t.Parallel()
	const earlier, later = "run_00000000000000000000000000000001", "run_00000000000000000000000000000002"
	full, now := filepath.Join(t.TempDir(), "full"), time.Now()
	store := openStateDir(t, full).Runs.(*runstore.Dir)
	open := func(dir string) *programs.Stored {
		saved, err := programs.OpenDir(filepath.Join(dir, "programs"), store)
		if err != nil {
			t.Fatal(err)
		}
		return saved
	}
	for id, code := range map[string]string{earlier: "return 1", later: "return 2"} {
		if err := open(full).Keep(t.Context(), &programs.Kept{
			RunID: id, Session: codemode.Session{SessionID: "cli"}, Language: "javascript", Code: code, Completed: true, At: now, Expires: now.Add(time.Hour),
		}); err != nil {
			t.Fatal(err)
		}
	}
	save := func(state, run string) []string {
		return []string{"programs", "save", run, "--name", "weekly", "--replace", "--config", "none", "--state", state}
	}
	repeated(t, save(full, earlier)...)
	seen := map[string]bool{}
	for at, more := 1, true; more; at++ {
		state := copyStateDir(t, full)
		more = killed(t, at, save(state, later)...)
		for _, again := range []bool{false, true} {
			if again {
				repeated(t, save(state, later)...)
			}
			list, err := open(state).List(t.Context())
			if err != nil || len(list) != 1 || list[0].Name != "weekly" {
				t.Fatalf("write %d: there is %v, %v", at, list, err)
			}
			if got := list[0].RunID + " " + list[0].Code; got != later+" return 2" && (again || got != earlier+" return 1") {
				t.Errorf("write %d, repeated %v: the program is %s", at, again, got)
			}
			seen[list[0].Code] = seen[list[0].Code] || more && !again
		}
	}
	if !seen["return 1"] || !seen["return 2"] {
		t.Errorf("only some of the programs were seen after a kill: %v", seen)
	}
}
