package guestbuilds_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/internal/guestbuilds"
	"github.com/quoinhq/quoin/internal/durable"
)

func open(t *testing.T) *guestbuilds.Dir {
	t.Helper()
	d, err := guestbuilds.Open(filepath.Join(t.TempDir(), "builds"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// keep keeps a build with that text and returns its id.
func keep(t *testing.T, d *guestbuilds.Dir, text string) string {
	t.Helper()
	id := sha256.Sum256([]byte(text))
	if err := d.Keep(t.Context(), id, writes(text)); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(id[:])
}

func writes(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func TestKeepFindList(t *testing.T) {
	t.Parallel()
	d := open(t)
	id := keep(t, d, "one")
	path, ok := d.Find(id)
	if b, err := os.ReadFile(path); !ok || err != nil || string(b) != "one" {
		t.Errorf("%q, %v, %v", b, ok, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	keep(t, d, "two")
	list, err := d.List()
	if err != nil || len(list) != 2 || list[1].ID != id || list[1].Bytes != 3 || time.Since(list[1].Used) < 23*time.Hour {
		t.Errorf("%+v, %v", list, err)
	}
	keep(t, d, "one") // which notes that it is in use
	if list, err = d.List(); err != nil || time.Since(list[0].Used) > time.Hour || time.Since(list[1].Used) > time.Hour {
		t.Errorf("%+v, %v", list, err)
	}
	for _, id := range []string{"", "lock", "../" + id, strings.ToUpper(id), strings.Repeat("0", 64)} {
		if path, ok := d.Find(id); ok {
			t.Errorf("%q was found at %s", id, path)
		}
	}
}

// TestOnlyTheBytesOfTheID: neither other bytes nor a part of them become a build.
func TestOnlyTheBytesOfTheID(t *testing.T) {
	t.Parallel()
	d := open(t)
	broken := errors.New("broken")
	for name, write := range map[string]func(io.Writer) error{
		"others": writes("another"),
		"a part": writes("on"),
		"broken": func(w io.Writer) error { return errors.Join(writes("one")(w), broken) },
	} {
		if err := d.Keep(t.Context(), sha256.Sum256([]byte("one")), write); err == nil {
			t.Errorf("%s: kept", name)
		}
	}
	entries, err := os.ReadDir(d.Path())
	if err != nil || len(entries) != 1 || entries[0].Name() != "lock" {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// TestCollect: what a run needs stays, and what a host has used lately.
func TestCollect(t *testing.T) {
	t.Parallel()
	d := open(t)
	now := time.Now()
	var ids []string
	for _, text := range []string{"needed", "fresh", "unneeded"} {
		ids = append(ids, keep(t, d, text))
		if path, _ := d.Find(ids[len(ids)-1]); text != "fresh" {
			old := now.Add(-2 * guestbuilds.UnusedFor)
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	needed := func(context.Context) (map[string]bool, error) { return map[string]bool{ids[0]: true}, nil }
	before := now.Add(-guestbuilds.UnusedFor)
	failed := errors.New("no store")
	if got, err := d.Collect(t.Context(), before, false, func(context.Context) (map[string]bool, error) { return nil, failed }); !errors.Is(err, failed) || got != nil {
		t.Errorf("without a store: %v, %v", got, err)
	}
	for _, dry := range []bool{true, false} {
		got, err := d.Collect(t.Context(), before, dry, needed)
		if err != nil || len(got) != 1 || got[0].ID != ids[2] {
			t.Errorf("dry %v: %+v, %v", dry, got, err)
		}
		if _, ok := d.Find(ids[2]); ok != dry {
			t.Errorf("dry %v: it is there: %v", dry, ok)
		}
	}
	if list, err := d.List(); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestKeepWhileCollecting: hosts keep builds while another process asks which runs there are,
// which takes long. What they have kept since stays, though the answer does not name it.
func TestKeepWhileCollecting(t *testing.T) {
	t.Parallel()
	d := open(t)
	old := time.Now().Add(-2 * guestbuilds.UnusedFor)
	noted, unused := keep(t, d, "noted"), keep(t, d, "unused")
	for _, id := range []string{noted, unused} {
		path, _ := d.Find(id)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	var fresh string
	removed, err := d.Collect(t.Context(), time.Now().Add(time.Hour), false, func(context.Context) (map[string]bool, error) {
		keep(t, d, "noted")
		fresh = keep(t, d, "fresh")
		return nil, nil
	})
	if err != nil || len(removed) != 1 || removed[0].ID != unused {
		t.Errorf("removed %+v, %v", removed, err)
	}
	for name, id := range map[string]string{"noted": noted, "fresh": fresh} {
		if _, ok := d.Find(id); !ok {
			t.Errorf("the build that was %s meanwhile is gone", name)
		}
	}
}

// TestKeepWaitsForALock: while builds are removed, a host waits with its own, for a short time.
func TestKeepWaitsForALock(t *testing.T) {
	t.Parallel()
	d := open(t)
	id := keep(t, d, "one")
	lock := durable.NewLock(filepath.Join(d.Path(), "lock"))
	if err := lock.Lock(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := d.Keep(t.Context(), sha256.Sum256([]byte("one")), writes("one")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while others hold the lock: %v", err)
	}
	path, _ := d.Find(id)
	if err := errors.Join(os.Remove(path), lock.Close()); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.Find(keep(t, d, "one")); !ok {
		t.Error("it was not kept again")
	}
}
