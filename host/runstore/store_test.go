package runstore_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/runstore/runstoretest"
)

func record(id string) *runstore.Record { return runstoretest.Record(id, 1) }

// anyEpoch compares records that the same claim need not have written.
var anyEpoch = cmpopts.IgnoreFields(runstore.Record{}, "Epoch")

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
	if len(entries) != 2 || entries[0].Name() != "key" || entries[1].Name() != "store" {
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
	const older = "an older version of Quoin has suspended the run: wait for it with that version, or abort it there"
	for format, want := range map[int]string{0: older, runstore.FormatVersion - 1: older, runstore.FormatVersion + 1: "a newer version of Quoin has suspended the run: install that version again"} {
		r := record("run_1")
		r.Format = format
		if err := runstore.Alone(s).Put(context.Background(), r, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(context.Background(), "run_1"); !errors.Is(err, runstore.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("Get of format %d: %v, want ErrFormat and %q", format, err, want)
		}
	}
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
	if d := cmp.Diff([]string{"fresh.lock", "fresh.run", "key", "new.lock", "odd.lock", "odd.run", "store", "y.run.1.2.tmp"}, names); d != "" {
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
