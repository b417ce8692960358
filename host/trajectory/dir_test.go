package trajectory_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
)

// TestDirKeepsEveryEvent reads back what was recorded, in two directories' worth of
// processes.
func TestDirKeepsEveryEvent(t *testing.T) {
	t.Parallel()
	d, path := openDir(t, trajectory.DirOptions{})
	want := story()
	record(t, d, want[:8]...)
	again, err := trajectory.OpenDir(path, trajectory.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	record(t, again, want[8:]...)
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	r := read(t, d)
	if diff := cmp.Diff(want, r.Events); diff != "" || r.Torn != nil || r.Session != ada {
		t.Errorf("torn %v, session %+v, events (-want +got):\n%s", r.Torn, r.Session, diff)
	}
	st, err := os.Stat(filepath.Join(path, runID+".jsonl"))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", st.Mode(), err)
	}
	if st, err = os.Stat(path); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("mode of the directory: %v %v", st.Mode(), err)
	}
}

// TestSessionsDoNotReadEachOther asks for a run as another session.
func TestSessionsDoNotReadEachOther(t *testing.T) {
	t.Parallel()
	d, _ := openDir(t, trajectory.DirOptions{})
	record(t, d, story()...)
	for _, s := range []codemode.Session{{}, {AgentID: "agent", SessionID: "bob"}, {SessionID: "ada"}} {
		if _, err := d.Read(s, runID); !errors.Is(err, trajectory.ErrWrongSession) {
			t.Errorf("%+v: %v", s, err)
		}
		if list, err := d.List(s); err != nil || len(list) != 0 {
			t.Errorf("%+v: %v %v", s, list, err)
		}
	}
	nextTurn := ada
	nextTurn.TurnID = "another turn"
	if _, err := d.Read(nextTurn, runID); err != nil {
		t.Errorf("the next turn of the session: %v", err)
	}
	list, err := d.List(ada)
	want := []trajectory.Summary{{RunID: runID, Start: epoch, Duration: 610 * time.Millisecond, Status: "failed", Reason: "nested_tool_failed", Code: "internal_error", Calls: 4, Failed: 2}}
	if diff := cmp.Diff(want, list); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestUnknownRuns(t *testing.T) {
	t.Parallel()
	d, _ := openDir(t, trajectory.DirOptions{})
	for _, id := range []string{"run_2", "", "../run_1", "a/b", ".", strings.Repeat("x", 129)} {
		if _, err := d.Read(ada, id); !errors.Is(err, trajectory.ErrUnknownRun) {
			t.Errorf("%q: %v", id, err)
		}
		if e := (trajectory.Event{RunID: id}); id != "run_2" && d.Record(e) == nil {
			t.Errorf("%q was recorded", id)
		}
	}
}

// TestHostileFiles is the table of what is refused, and what is read up to the tear.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		events int // 0: refused
		torn   string
	}{
		{"whole", func(b []byte) []byte { return b }, 14, ""},
		{"empty", func([]byte) []byte { return nil }, 0, "line 1: it ends in the middle of a line"},
		{"cut inside the last line", func(b []byte) []byte { return b[:len(b)-9] }, 13, "line 14: it ends in the middle of a line"},
		{"cut inside the first", func(b []byte) []byte { return b[:50] }, 0, "line 1: it ends in the middle of a line"},
		{"nonsense at the end", func(b []byte) []byte { return append(b, "oops\n"...) }, 14, "line 15: it is not an event"},
		{"nonsense in the middle", func(b []byte) []byte { return swapLine(b, 3, "{}") }, 3, "line 4: it has version 0, expected 1"},
		{"nonsense at the start", func(b []byte) []byte { return swapLine(b, 0, "[]") }, 0, "line 1: it is not an event"},
		{"another run", func(b []byte) []byte { return swapIn(b, 2, `"runId":"run_1"`, `"runId":"run_2"`) }, 2, "line 3: it tells of another run"},
		{"another session", func(b []byte) []byte { return swapIn(b, 2, `"sessionId":"ada"`, `"sessionId":"bob"`) }, 2, "line 3: it tells of another session"},
		{"a later version", func(b []byte) []byte { return swapIn(b, 0, `"v":1`, `"v":2`) }, 0, "line 1: it has version 2, expected 1"},
		{"not UTF-8", func(b []byte) []byte { return swapIn(b, 2, "issues", "\xff") }, 1, "line 2: it is not UTF-8"},
		{"a negative size", func(b []byte) []byte { return swapIn(b, 0, `"inputBytes":120`, `"inputBytes":-1`) }, 0, "line 1: it has a negative size or duration"},
		{"no kind", func(b []byte) []byte { return swapIn(b, 0, `"run_started"`, `""`) }, 0, "line 1: it does not say what happened when"},
		{"a line without end", func(b []byte) []byte { return append(b, strings.Repeat("x", 1<<20)...) }, 14, "line 15: it is longer than 262144 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, path := openDir(t, trajectory.DirOptions{})
			record(t, d, story()...)
			edit(t, path, c.change)
			r, err := d.Read(ada, runID)
			if c.events == 0 {
				if !errors.Is(err, trajectory.ErrDamaged) || !strings.Contains(err.Error(), c.torn) {
					t.Errorf("got %v, want %s", err, c.torn)
				}
				return
			}
			if err != nil || len(r.Events) != c.events {
				t.Fatalf("%v, want %d events", err, c.events)
			}
			if c.torn == "" && r.Torn != nil || c.torn != "" && (r.Torn == nil || !strings.Contains(r.Torn.Error(), c.torn)) {
				t.Errorf("torn: %v, want %s", r.Torn, c.torn)
			}
		})
	}
}

// swapLine replaces a line, counted from 0.
func swapLine(b []byte, n int, by string) []byte {
	lines := strings.SplitAfter(string(b), "\n")
	lines[n] = by + "\n"
	return []byte(strings.Join(lines, ""))
}

// swapIn replaces a part of the first line that has it, from line n on.
func swapIn(b []byte, n int, old, by string) []byte {
	lines := strings.SplitAfter(string(b), "\n")
	head, tail := strings.Join(lines[:n], ""), strings.Join(lines[n:], "")
	if n == 2 && old == "issues" { // any line will do
		head, tail = "", string(b)
	}
	return []byte(head + strings.Replace(tail, old, by, 1))
}

// TestNotAFile puts other things in the place of a file: none is opened.
func TestNotAFile(t *testing.T) {
	t.Parallel()
	d, path := openDir(t, trajectory.DirOptions{})
	name := filepath.Join(path, runID+".jsonl")
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func() error{
		"a directory":   func() error { return os.Mkdir(name, 0o700) },
		"a link":        func() error { return os.Symlink(secret, name) },
		"a broken link": func() error { return os.Symlink("nowhere", name) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Read(ada, runID); !errors.Is(err, trajectory.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
		if err := d.Record(story()[0]); !errors.Is(err, trajectory.ErrDamaged) {
			t.Errorf("%s: recorded, %v", what, err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestATornLineIsCutOff continues a file after its writer's machine crashed.
func TestATornLineIsCutOff(t *testing.T) {
	t.Parallel()
	d, path := openDir(t, trajectory.DirOptions{})
	all := story()
	record(t, d, all[:8]...)
	edit(t, path, func(b []byte) []byte { return b[:len(b)-20] })
	record(t, d, all[9])
	got := read(t, d)
	gap := at(600, trajectory.Event{Kind: trajectory.Gap, Missed: 1})
	if diff := cmp.Diff(append(append([]trajectory.Event{}, all[:7]...), gap, all[9]), got.Events); diff != "" || got.Torn != nil {
		t.Errorf("torn %v, events (-want +got):\n%s", got.Torn, diff)
	}
}

// TestAFullFileSaysWhatIsMissing keeps how the run ended.
func TestAFullFileSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	d, path := openDir(t, trajectory.DirOptions{MaxFileBytes: 4 << 10})
	all := story()
	record(t, d, all[0])
	const calls = 200
	for range calls {
		record(t, d, all[4])
	}
	record(t, d, all[13])
	r := read(t, d)
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
	if s := r.Summary(); s.Missed != missed || s.Status != "failed" {
		t.Errorf("summary %+v", s)
	}
	// Not even the events of the run itself fill a disk.
	for range 2000 {
		record(t, d, all[9], all[7])
	}
	if st, err := os.Stat(filepath.Join(path, runID+".jsonl")); err != nil || st.Size() > 100<<10 {
		t.Errorf("%d bytes, %v", st.Size(), err)
	}
}

// TestSweep keeps to the bounds of the directory and removes the oldest first.
func TestSweep(t *testing.T) {
	t.Parallel()
	d, path := openDir(t, trajectory.DirOptions{MaxRuns: 3, MaxAge: time.Hour})
	record(t, d, story()...)
	if err := d.Close(); err != nil { // no sweep runs by itself
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(path, runID+".jsonl")); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for i, age := range []time.Duration{5, 40, 10, 30, 20, 90} { // minutes
		e := story()[0]
		e.RunID = fmt.Sprint("run_", i)
		record(t, d, e, func() trajectory.Event { e.Kind = trajectory.RunEnded; return e }())
		last := now.Add(-age * time.Minute)
		if err := os.Chtimes(filepath.Join(path, e.RunID+".jsonl"), last, last); err != nil {
			t.Fatal(err)
		}
	}
	stranger := filepath.Join(path, "notes.txt")
	if err := os.WriteFile(stranger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantFiles := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(path)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
	if err := d.Sweep(now); err != nil {
		t.Fatal(err)
	}
	wantFiles("notes.txt", "run_0.jsonl", "run_2.jsonl", "run_4.jsonl")
	if err := d.Sweep(now.Add(45 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	wantFiles("notes.txt", "run_0.jsonl", "run_2.jsonl")

	small, err := trajectory.OpenDir(path, trajectory.DirOptions{MaxTotalBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := small.Sweep(now); err != nil {
		t.Fatal(err)
	}
	wantFiles("notes.txt")
}

// TestRecordConcurrently has two processes' worth of writers in one directory.
func TestRecordConcurrently(t *testing.T) {
	t.Parallel()
	d, path := openDir(t, trajectory.DirOptions{})
	other, err := trajectory.OpenDir(path, trajectory.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const each = 100
	var wg sync.WaitGroup
	for i := range 8 {
		sink := []*trajectory.Dir{d, other}[i%2]
		wg.Go(func() {
			for n := range each {
				e := story()[n%14]
				if err := sink.Record(e); err != nil {
					t.Error(err)
				}
				e.RunID = fmt.Sprintf("run_%d_%d", i, n)
				if err := sink.Record(e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	if r := read(t, d); len(r.Events) != 8*each || r.Torn != nil {
		t.Errorf("%d events, torn %v", len(r.Events), r.Torn)
	}
}

// TestABodyTooLongForALineIsLeftOut keeps the event.
func TestABodyTooLongForALineIsLeftOut(t *testing.T) {
	t.Parallel()
	d, _ := openDir(t, trajectory.DirOptions{})
	e := story()[4]
	e.Output = []byte(`"` + strings.Repeat("x", 300<<10) + `"`)
	record(t, d, story()[0], e)
	if r := read(t, d); len(r.Events) != 2 || r.Events[1].Output != nil || r.Events[1].OutputBytes != 90 {
		t.Errorf("%d events", len(r.Events))
	}
	e.Output, e.Via = nil, strings.Repeat("x", 300<<10)
	if err := d.Record(e); err == nil {
		t.Error("an event that no line can hold was recorded")
	}
}

// BenchmarkRecord is what an event costs while its run is driven.
func BenchmarkRecord(b *testing.B) {
	d, _ := openDir(b, trajectory.DirOptions{MaxFileBytes: 1 << 40})
	list := story()
	record(b, d, list[0])
	b.ReportAllocs()
	for b.Loop() {
		if err := d.Record(list[4]); err != nil {
			b.Fatal(err)
		}
	}
}
