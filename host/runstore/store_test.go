package runstore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// stores are the implementations that every test of the contract runs against.
func stores(t *testing.T) map[string]runstore.Store {
	t.Helper()
	dir, err := runstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return map[string]runstore.Store{"memory": &runstore.Memory{}, "dir": dir}
}

func eachStore(t *testing.T, test func(t *testing.T, s runstore.Store)) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

func record(id string) *runstore.Record {
	return &runstore.Record{
		ID:         id,
		Format:     runstore.FormatVersion,
		Generation: 1,
		GuestBuild: "00ff",
		Session:    codemode.Session{AgentID: "a", SessionKey: "k", SessionID: "s", TurnID: "r"},
		Language:   "javascript",
		Created:    time.Now().UTC().Truncate(time.Millisecond),
		Expires:    time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond),
		Dispatched: true,
		Scopes:     map[string]json.RawMessage{"issues": json.RawMessage(`{"kind":"object","entries":{}}`)},
		Counters:   runstore.Counters{Call: 3, CPUMicros: 7},
		Image:      bytes.Repeat([]byte{0, 1, 2, 0xff}, 1000),
		Calls: []runstore.Call{
			{ID: 1, Method: "call", Target: "x", Args: json.RawMessage(`{"a":1}`), State: runstore.CallInFlight, IdempotencyKey: id + ":1"},
			{ID: 2, Method: "yield", State: runstore.CallQueued},
		},
	}
}

// anyEpoch compares records that the same claim need not have written.
var anyEpoch = cmpopts.IgnoreFields(runstore.Record{}, "Epoch")

func TestPutGet(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		want := record("run_1")
		if err := runstore.Alone(s).Put(ctx, want, 0); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(ctx, "run_1")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got, anyEpoch); d != "" {
			t.Errorf("record changed (-want +got):\n%s", d)
		}
		if err := runstore.Alone(s).Delete(ctx, "run_1"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, "run_1"); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("Get after Delete: %v, want ErrNotFound", err)
		}
		if err := runstore.Alone(s).Delete(ctx, "run_1"); err != nil {
			t.Errorf("second Delete: %v", err)
		}
	})
}

func TestUnknownIDs(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		for _, id := range []string{"", "nope", "../key", "a/b", "key", "run\x00", string(bytes.Repeat([]byte("x"), 200))} {
			if _, err := s.Get(ctx, id); !errors.Is(err, runstore.ErrNotFound) {
				t.Errorf("Get(%q): %v, want ErrNotFound", id, err)
			}
			if err := runstore.Alone(s).Delete(ctx, id); err != nil {
				t.Errorf("Delete(%q): %v", id, err)
			}
		}
	})
}

func TestExpiry(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		old, fresh := record("old"), record("fresh")
		old.Expires = time.Now().Add(-time.Second)
		for _, r := range []*runstore.Record{old, fresh} {
			if err := runstore.Alone(s).Put(ctx, r, 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Get(ctx, "old"); !errors.Is(err, runstore.ErrExpired) {
			t.Errorf("Get of an expired run: %v, want ErrExpired", err)
		}
		left, err := s.Sweep(ctx, time.Now())
		if err != nil || left != 1 {
			t.Errorf("Sweep = %d, %v; want 1 record left", left, err)
		}
		if _, err := s.Get(ctx, "old"); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("Get after Sweep: %v, want ErrNotFound", err)
		}
		if _, err := s.Get(ctx, "fresh"); err != nil {
			t.Errorf("Sweep took a live record: %v", err)
		}
	})
}

func TestSweepLeavesClaimedRuns(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		r := record("held")
		r.Expires = time.Now().Add(-time.Second)
		if err := runstore.Alone(s).Put(ctx, r, 0); err != nil {
			t.Fatal(err)
		}
		c, err := s.Claim(ctx, "held")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
		if left, err := s.Sweep(ctx, time.Now()); err != nil || left != 1 {
			t.Errorf("Sweep = %d, %v; want the claimed run left", left, err)
		}
	})
}

func TestMaximum(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		for i := range 3 {
			if err := runstore.Alone(s).Put(ctx, record("run_"+strconv.Itoa(i)), 3); err != nil {
				t.Fatal(err)
			}
		}
		if err := runstore.Alone(s).Put(ctx, record("run_3"), 3); !errors.Is(err, runstore.ErrFull) {
			t.Errorf("fourth of three: %v, want ErrFull", err)
		}
		again := record("run_1")
		again.Generation = 2
		if err := runstore.Alone(s).Put(ctx, again, 3); err != nil {
			t.Errorf("replacing a stored run at the limit: %v", err)
		}
		expired := record("run_2")
		expired.Expires = time.Now().Add(-time.Second)
		if err := runstore.Alone(s).Put(ctx, expired, 3); err != nil {
			t.Fatal(err)
		}
		if err := runstore.Alone(s).Put(ctx, record("run_4"), 3); err != nil {
			t.Errorf("an expired run still takes a place: %v", err)
		}
	})
}

func TestJournal(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		r := record("run_1")
		if err := runstore.Alone(s).Put(ctx, r, 0); err != nil {
			t.Fatal(err)
		}
		settled := []runstore.Call{{ID: 1, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(`42`)}}
		if err := runstore.Alone(s).PutCalls(ctx, "run_1", 1, settled); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(ctx, "run_1")
		if err != nil {
			t.Fatal(err)
		}
		want := record("run_1").Calls
		want[0].State, want[0].OK, want[0].Answer = runstore.CallSettled, true, json.RawMessage(`42`)
		if d := cmp.Diff(want, got.Calls); d != "" {
			t.Errorf("journal (-want +got):\n%s", d)
		}
		if err := runstore.Alone(s).PutCalls(ctx, "run_1", 1, []runstore.Call{{ID: 7}}); err == nil {
			t.Error("an answer to a call that the record does not have was taken")
		}
		for _, generation := range []uint64{0, 2} {
			if err := runstore.Alone(s).PutCalls(ctx, "run_1", generation, settled); !errors.Is(err, runstore.ErrNotFound) {
				t.Errorf("journal of generation %d: %v, want ErrNotFound", generation, err)
			}
		}
		if err := runstore.Alone(s).PutCalls(ctx, "gone", 1, nil); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("journal of an unknown run: %v, want ErrNotFound", err)
		}
		// A new suspension brings its own calls; the old journal is void.
		r.Generation = 2
		r.Calls = []runstore.Call{{ID: 9, Method: "yield", State: runstore.CallQueued}}
		if err := runstore.Alone(s).Put(ctx, r, 0); err != nil {
			t.Fatal(err)
		}
		got, err = s.Get(ctx, "run_1")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r.Calls, got.Calls); d != "" {
			t.Errorf("calls of the new suspension (-want +got):\n%s", d)
		}
		// A writer that is late has the same call ids, and belongs to the old image.
		for _, calls := range [][]runstore.Call{nil, settled, {{ID: 9, State: runstore.CallSettled}}} {
			if err := runstore.Alone(s).PutCalls(ctx, "run_1", 1, calls); !errors.Is(err, runstore.ErrNotFound) {
				t.Errorf("journal of the generation before: %v, want ErrNotFound", err)
			}
		}
	})
}

func TestClaimIsExclusive(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		if err := runstore.Alone(s).Put(ctx, record("run_1"), 0); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		claims := make(chan runstore.Claim, 16)
		for range 16 {
			wg.Go(func() {
				c, err := s.Claim(ctx, "run_1")
				switch {
				case err == nil:
					claims <- c
				case !errors.Is(err, runstore.ErrClaimed):
					t.Errorf("Claim: %v, want nil or ErrClaimed", err)
				}
			})
		}
		wg.Wait()
		close(claims)
		if len(claims) != 1 {
			t.Fatalf("%d claims at once, want 1", len(claims))
		}
		c := <-claims
		c.Release()
		c.Release()
		c, err := s.Claim(ctx, "run_1")
		if err != nil {
			t.Fatalf("Claim after Release: %v", err)
		}
		c.Release()
	})
}

// TestClaimOutlivesTheRecord: the holder of a claim keeps it when the record is
// deleted, and lets no one else in.
func TestClaimOutlivesTheRecord(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		c, err := s.Create(ctx, record("run_1"), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Claim(ctx, "run_1"); !errors.Is(err, runstore.ErrClaimed) {
			t.Errorf("second claim: %v, want ErrClaimed", err)
		}
		if _, err := s.Create(ctx, record("run_1"), 0); !errors.Is(err, runstore.ErrClaimed) {
			t.Errorf("another run of the id: %v, want ErrClaimed", err)
		}
		c.Release()
		if _, err = s.Claim(ctx, "run_1"); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("claim of a run that is gone: %v, want ErrNotFound", err)
		}
		if c, err = s.Create(ctx, record("run_1"), 0); err != nil {
			t.Fatal(err)
		}
		c.Release()
	})
}

// TestClaimsLeaveNoFiles: a claim of a run that is gone takes its lock file along, as
// do a claim of no run, and a reservation.
func TestClaimsLeaveNoFiles(t *testing.T) {
	path := t.TempDir()
	s, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	release, err := s.Reserve(ctx, "run_1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reserve(ctx, "run_1"); !errors.Is(err, runstore.ErrClaimed) {
		t.Errorf("an id that is held: %v, want ErrClaimed", err)
	}
	c, err := s.Create(ctx, record("run_1"), 0)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if err := c.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	c.Release()
	if _, err := s.Claim(ctx, "run_1"); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("claim of no run: %v, want ErrNotFound", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].Name() != "key" {
		t.Errorf("files left: %v", entries)
	}
}

func TestDirRefusesSpecialFiles(t *testing.T) {
	path := t.TempDir()
	s, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(path, "run_1.run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(context.Background(), "run_1"); !errors.Is(err, runstore.ErrCorrupt) {
		t.Errorf("Get of a directory: %v, want ErrCorrupt", err)
	}
}

func TestDirSurvivesItsProcess(t *testing.T) {
	path := t.TempDir()
	ctx := context.Background()
	first, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	want := record("run_1")
	if err := runstore.Alone(first).Put(ctx, want, 0); err != nil {
		t.Fatal(err)
	}
	second, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := second.Get(ctx, "run_1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got, anyEpoch); d != "" {
		t.Errorf("record changed (-want +got):\n%s", d)
	}
}

func TestDirPermissions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	s, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := runstore.Alone(s).Put(context.Background(), record("run_1"), 0); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700, "key": 0o600, "run_1.run": 0o600} {
		st, err := os.Stat(filepath.Join(path, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := st.Mode().Perm(); got != want {
			t.Errorf("%q has mode %04o, want %04o", name, got, want)
		}
	}
	if err := os.Chmod(filepath.Join(path, "key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := runstore.OpenDir(path); err == nil {
		t.Error("a key that everybody can read was accepted")
	}
}

// TestDirRefusesDamage changes every byte of a small record file in turn, cuts
// it everywhere, and swaps files between runs and stores.
func TestDirRefusesDamage(t *testing.T) {
	path := t.TempDir()
	ctx := context.Background()
	s, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	r := record("run_1")
	r.Image = []byte("image")
	if err := runstore.Alone(s).Put(ctx, r, 0); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(path, "run_1.run")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, "run_1"); !errors.Is(err, runstore.ErrCorrupt) {
			t.Fatalf("%s: %v, want ErrCorrupt", what, err)
		}
	}
	for i := range whole {
		b := bytes.Clone(whole)
		b[i] ^= 0x20
		refused("byte "+strconv.Itoa(i)+" changed", b)
		refused("cut at "+strconv.Itoa(i), whole[:i])
	}

	if err := runstore.Alone(s).Put(ctx, record("run_2"), 0); err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(path, "run_2.run"))
	if err != nil {
		t.Fatal(err)
	}
	refused("file of another run", other)

	foreign, err := runstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := runstore.Alone(foreign).Put(ctx, r, 0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "run_1"); err != nil {
		t.Errorf("the untouched file: %v", err)
	}
}

func TestDirRefusesAnotherFormat(t *testing.T) {
	s, err := runstore.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []int{0, runstore.FormatVersion - 1, runstore.FormatVersion + 1} {
		r := record("run_1")
		r.Format = format
		if err := runstore.Alone(s).Put(context.Background(), r, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(context.Background(), "run_1"); !errors.Is(err, runstore.ErrFormat) {
			t.Errorf("Get of format %d: %v, want ErrFormat", format, err)
		}
	}
}

// TestHammer stores, reads and claims one run from many goroutines: a reader sees some
// whole record, never a mixture.
func TestHammer(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		if err := runstore.Alone(s).Put(ctx, record("run_1"), 0); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for i := range 20 {
					r := record("run_1")
					r.Generation = uint64(g*100 + i)
					r.Image = bytes.Repeat([]byte{byte(g)}, 100)
					if err := runstore.Alone(s).Checkpoint(ctx, r); err != nil && !errors.Is(err, runstore.ErrClaimed) {
						t.Errorf("Checkpoint: %v", err)
					}
					got, err := s.Get(ctx, "run_1")
					if err != nil {
						t.Errorf("Get: %v", err)
						continue
					}
					if len(got.Image) == 100 && uint64(got.Image[0]) != got.Generation/100 {
						t.Errorf("image of %d under generation %d", got.Image[0], got.Generation)
					}
				}
			})
		}
		wg.Wait()
	})
}

// TestSweepOfADirectory: what expired goes, what did not verify stays, and files
// of writers that died go once they are old.
func TestSweepOfADirectory(t *testing.T) {
	path := t.TempDir()
	s, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, id := range []string{"old", "odd", "fresh"} {
		r := record(id)
		if id == "old" {
			r.Expires = time.Now().Add(-time.Minute)
		}
		if err := runstore.Alone(s).Put(ctx, r, 0); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	for name, when := range map[string]time.Time{
		"odd.run": past, "fresh.run": past, "x.run.1.1.tmp": past, "y.run.1.2.tmp": time.Now(),
		"gone.lock": past, "new.lock": time.Now(),
	} {
		name = filepath.Join(path, name)
		if filepath.Base(name) != "fresh.run" {
			if err := os.WriteFile(name, []byte("torn"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		// The time of a file is a hint; the record decides.
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if left, err := s.Sweep(ctx, time.Now()); err != nil || left != 1 {
		t.Errorf("Sweep = %d, %v; want the fresh one left", left, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if d := cmp.Diff([]string{"fresh.lock", "fresh.run", "key", "new.lock", "odd.lock", "odd.run", "y.run.1.2.tmp"}, names); d != "" {
		t.Errorf("files left (-want +got):\n%s", d)
	}
}

// BenchmarkDirPut writes records into a directory that already holds many.
func BenchmarkDirPut(b *testing.B) {
	s, err := runstore.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	r := record("run")
	r.Image = make([]byte, 4<<10)
	n := 0
	for b.Loop() {
		r.ID = "run_" + strconv.Itoa(n)
		n++
		if err := runstore.Alone(s).Put(context.Background(), r, 1_000_000); err != nil {
			b.Fatal(err)
		}
	}
}
