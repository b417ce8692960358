// Package documentstest has the tests that every driver of package documents passes.
//
// [Run] takes what opens a store. It is for tests alone; its checks fail the test that
// calls it.
package documentstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/documents"
)

// MaxBytes is the bound that stores under test are opened with, in bytes.
const MaxBytes = 1000

// Open returns two handles of one new store with that bound, such as two processes have.
type Open func(t *testing.T, transient bool) (one, other documents.Store)

// Steal ends a lock that a process holds, without its knowledge.
type Steal func(t *testing.T, s documents.Store, lock string)

// Run runs every test of a driver.
func Run(t *testing.T, open Open, steal Steal) {
	for name, test := range map[string]func(*testing.T, Open){
		"OneCreatorWins":      oneCreatorWins,
		"WhatIsWrittenIsRead": whatIsWrittenIsRead,
		"ListsAndCounts":      listsAndCounts,
		"DueNames":            dueNames,
		"TransientGo":         transientGo,
		"MarksChange":         marksChange,
		"LocksExclude":        locksExclude,
		"LostLocksFence":      func(t *testing.T, open Open) { lostLocksFence(t, open, steal) },
		"WatchHears":          watchHears,
		"HostileNames":        hostileNames,
		"Bounds":              bounds,
		"ListsAreBounded":     listsAreBounded,
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want fails the test unless the store reads that content.
func want(t *testing.T, s documents.Store, name, content string) {
	t.Helper()
	if b, err := s.Read(t.Context(), name); err != nil || string(b) != content {
		t.Errorf("%s has %q, %v, want %q", name, b, err, content)
	}
}

func wantGone(t *testing.T, s documents.Store, name string) {
	t.Helper()
	if b, err := s.Read(t.Context(), name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s has %q, %v, want fs.ErrNotExist", name, b, err)
	}
}

func oneCreatorWins(t *testing.T, open Open) {
	one, other := open(t, false)
	for round := range 5 {
		name := "doc" + strings.Repeat("x", round) + ".json"
		var wins atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			s := one
			if i%2 == 0 {
				s = other
			}
			all.Go(func() {
				switch err := s.Create(t.Context(), name, []byte{byte(i)}, time.Time{}); {
				case err == nil:
					wins.Add(1)
				case !errors.Is(err, fs.ErrExist):
					t.Error(err)
				}
			})
		}
		all.Wait()
		if wins.Load() != 1 {
			t.Errorf("%d creators of one name have succeeded", wins.Load())
		}
	}
}

func whatIsWrittenIsRead(t *testing.T, open Open) {
	one, other := open(t, false)
	ctx := t.Context()
	wantGone(t, one, "a.json")
	must(t, one.Create(ctx, "a.json", []byte("first"), time.Time{}))
	want(t, other, "a.json", "first")
	must(t, other.Replace(ctx, "a.json", []byte("second"), time.Time{}))
	want(t, one, "a.json", "second")
	must(t, one.Replace(ctx, "b.json", nil, time.Now().Add(-time.Hour)))
	want(t, other, "b.json", "") // that it has expired is for the caller to say
	must(t, other.Remove(ctx, "a.json", "b.json", "c.json"))
	wantGone(t, one, "a.json")
	wantGone(t, one, "b.json")
	if err := one.Remove(ctx, "a.json", "b.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("removed twice: %v", err)
	}
	must(t, one.Create(ctx, "a.json", []byte("third"), time.Time{}))
	want(t, other, "a.json", "third")
	all := bytes.Repeat([]byte{0, 1, '\\', 0xff, '\''}, 100)
	must(t, one.Replace(ctx, "a.json", all, time.Time{}))
	want(t, other, "a.json", string(all))
}

func listsAndCounts(t *testing.T, open Open) {
	one, other := open(t, false)
	ctx := t.Context()
	for _, name := range []string{"a.ask", "b.ask", "b.done", "plain"} {
		must(t, one.Create(ctx, name, []byte(name), time.Time{}))
	}
	docs, err := other.All(ctx, ".ask")
	must(t, err)
	var names []string
	for _, d := range docs {
		if d.Err != nil || string(d.Content) != d.Name {
			t.Errorf("%s has %q, %v", d.Name, d.Content, d.Err)
		}
		names = append(names, d.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"a.ask", "b.ask"}) {
		t.Errorf("listed %q", names)
	}
	if docs, err := other.All(ctx, ".none"); err != nil || len(docs) != 0 {
		t.Errorf("of no document: %v, %v", docs, err)
	}
	counts, err := other.Counts(ctx)
	if err != nil || counts[".ask"] != 2 || counts[".done"] != 1 || counts[".none"] != 0 {
		t.Errorf("counts %v, %v", counts, err)
	}
}

func dueNames(t *testing.T, open Open) {
	one, other := open(t, false)
	ctx, now := t.Context(), time.Now()
	must(t, one.Create(ctx, "over.ask", nil, now.Add(-3*time.Hour)))
	must(t, one.Create(ctx, "soon.ask", nil, now.Add(-time.Hour)))
	must(t, one.Replace(ctx, "late.ask", nil, now.Add(time.Hour)))
	must(t, one.Create(ctx, "over.done", nil, now.Add(-time.Hour)))
	for _, tc := range []struct {
		due  time.Time
		want string
	}{
		{time.Time{}, "late.ask over.ask soon.ask"},
		{now.Add(-2 * time.Hour), "over.ask"},
		{now, "over.ask soon.ask"},
	} {
		names, err := other.Names(ctx, ".ask", tc.due)
		slices.Sort(names)
		if got := strings.Join(names, " "); err != nil || got != tc.want {
			t.Errorf("due by %v: %q, %v, want %q", tc.due, got, err, tc.want)
		}
	}
	must(t, other.Sweep(ctx, now, 0))
	want(t, one, "over.ask", "")
}

func transientGo(t *testing.T, open Open) {
	one, other := open(t, true)
	ctx, now := t.Context(), time.Now()
	must(t, one.Replace(ctx, "over.kept", []byte("x"), now.Add(-time.Minute)))
	for i, name := range []string{"a.kept", "b.kept", "c.kept"} {
		must(t, one.Replace(ctx, name, []byte(name), now.Add(time.Duration(i+1)*time.Hour)))
	}
	must(t, other.Sweep(ctx, now, 0))
	wantGone(t, one, "over.kept")
	want(t, one, "a.kept", "a.kept")
	must(t, other.Sweep(ctx, now, 2))
	wantGone(t, one, "a.kept")
	want(t, one, "b.kept", "b.kept")
	want(t, one, "c.kept", "c.kept")
}

func marksChange(t *testing.T, open Open) {
	one, other := open(t, false)
	ctx := t.Context()
	stamp := func() string {
		t.Helper()
		s, err := other.Stamp(ctx, "a.json")
		must(t, err)
		return s
	}
	last := ""
	version := func(what string) {
		t.Helper()
		v, err := other.Version(ctx)
		must(t, err)
		if v != "" && v == last {
			t.Errorf("after %s the version is as before", what)
		}
		last = v
	}
	if s := stamp(); s != "" {
		t.Errorf("what is not there has the stamp %q", s)
	}
	version("nothing")
	must(t, one.Create(ctx, "a.json", []byte("1"), time.Time{}))
	first := stamp()
	version("a creation")
	must(t, one.Replace(ctx, "a.json", []byte("22"), time.Time{}))
	if s := stamp(); s == first || s == "" || first == "" {
		t.Errorf("the stamps are %q and %q", first, s)
	}
	version("a replacement")
	again := stamp()
	must(t, one.Create(ctx, "b.json", []byte("1"), time.Time{}))
	version("another creation")
	if s := stamp(); s != again {
		t.Errorf("another document has changed the stamp from %q to %q", again, s)
	}
	must(t, one.Remove(ctx, "b.json"))
	version("a removal")
}

func locksExclude(t *testing.T, open Open) {
	one, other := open(t, false)
	ctx := t.Context()
	_, unlock, err := one.Lock(ctx, "a")
	must(t, err)
	_, free, err := other.Lock(ctx, "b") // another lock
	must(t, err)
	free()
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, _, err := other.Lock(short, "a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a held lock: %v", err)
	}
	var inside atomic.Int32
	var all sync.WaitGroup
	for _, s := range []documents.Store{one, other, one, other} {
		all.Go(func() {
			_, unlock, err := s.Lock(ctx, "a")
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			if inside.Add(1) != 1 {
				t.Error("two have one lock")
			}
			inside.Add(-1)
		})
	}
	unlock()
	all.Wait()
	if names, err := one.Names(ctx, ".json", time.Time{}); err != nil || len(names) != 0 {
		t.Errorf("locks have made documents: %q, %v", names, err)
	}
}

// lostLocksFence: a holder writes nothing once another has taken its lock, whichever of
// its locks it is, and also after the other has given it back.
func lostLocksFence(t *testing.T, open Open, steal Steal) {
	one, other := open(t, false)
	outer, freeOuter, err := one.Lock(t.Context(), "a")
	must(t, err)
	defer freeOuter()
	inner, freeInner, err := one.Lock(outer, "b")
	must(t, err)
	defer freeInner()
	must(t, one.Create(inner, "a.json", []byte("held"), time.Time{}))
	must(t, one.Replace(outer, "a.json", []byte("held too"), time.Time{}))
	must(t, one.Create(outer, "gone.json", nil, time.Time{}))
	must(t, one.Remove(inner, "gone.json"))

	refused := func(when string, ctx context.Context) {
		t.Helper()
		for name, err := range map[string]error{
			"Create":           one.Create(ctx, "b.json", nil, time.Time{}),
			"Create of a.json": one.Create(ctx, "a.json", nil, time.Time{}),
			"Replace":          one.Replace(ctx, "a.json", []byte("stale"), time.Time{}),
			"Remove":           one.Remove(ctx, "a.json"),
		} {
			if !errors.Is(err, documents.ErrLockLost) {
				t.Errorf("%s %s: %v, want ErrLockLost", name, when, err)
			}
		}
		wantGone(t, one, "b.json")
		want(t, one, "a.json", "held too")
	}
	steal(t, one, "a")
	thief, unlock, err := other.Lock(t.Context(), "a")
	must(t, err)
	refused("while another has the lock", outer)
	refused("under a second lock", inner)
	must(t, other.Create(thief, "c.json", nil, time.Time{}))
	must(t, one.Replace(t.Context(), "c.json", nil, time.Time{})) // who has no lock needs none
	unlock()
	refused("after the other has given the lock back", outer)

	again, free, err := one.Lock(t.Context(), "a")
	must(t, err)
	must(t, one.Replace(again, "a.json", []byte("held too"), time.Time{}))
	free()
	refused("after unlock", again)
}

func watchHears(t *testing.T, open Open) {
	one, other := open(t, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	hear := func(what string, c <-chan struct{}, happened func() bool) {
		t.Helper()
		for !happened() {
			select {
			case <-c:
			case <-ctx.Done():
				t.Fatalf("%s was never heard of", what)
			}
		}
	}
	c := one.Watch(ctx, ".done")
	for _, name := range []string{"a.done", "b.done"} {
		must(t, other.Create(ctx, name, nil, time.Time{}))
		hear(name, c, func() bool { _, err := one.Read(ctx, name); return err == nil })
	}
	must(t, one.Create(ctx, "own.done", nil, time.Time{}))
	select {
	case <-c:
	case <-ctx.Done():
		t.Error("what this handle writes is not heard of")
	}
}

func hostileNames(t *testing.T, open Open) {
	one, _ := open(t, false)
	ctx := t.Context()
	for _, name := range []string{"", ".", "..", ".hidden", "../a.json", "a/b.json", `a\b.json`, "a\x00b", "a b", strings.Repeat("a", 201)} {
		if err := one.Create(ctx, name, nil, time.Time{}); err == nil {
			t.Errorf("Create takes the name %q", name)
		}
		if err := one.Replace(ctx, name, nil, time.Time{}); err == nil {
			t.Errorf("Replace takes the name %q", name)
		}
		if _, _, err := one.Lock(ctx, name); err == nil {
			t.Errorf("Lock takes the name %q", name)
		}
		wantGone(t, one, name)
		if err := one.Remove(ctx, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Remove of the name %q: %v", name, err)
		}
	}
}

func bounds(t *testing.T, open Open) {
	one, other := open(t, false)
	ctx := t.Context()
	fits := make([]byte, MaxBytes)
	must(t, one.Create(ctx, "a.json", fits, time.Time{}))
	want(t, other, "a.json", string(fits))
	if err := one.Replace(ctx, "a.json", make([]byte, MaxBytes+1), time.Time{}); err == nil {
		t.Error("a document that could not be read back was written")
	}
	want(t, other, "a.json", string(fits))
	if err := one.Create(ctx, "b.json", make([]byte, MaxBytes+1), time.Time{}); err == nil {
		t.Error("a document that could not be read back was written")
	}
	wantGone(t, other, "b.json")
}

// listsAreBounded: more than fits into memory is refused, and not cut.
func listsAreBounded(t *testing.T, open Open) {
	one, other := open(t, false)
	ctx := t.Context()
	n := 0
	add := func() {
		n++
		must(t, one.Create(ctx, fmt.Sprintf("%03d.json", n), make([]byte, MaxBytes), time.Time{}))
	}
	for n < 56 { // and what each costs apart from its content
		add()
	}
	if docs, err := other.All(ctx, ".json"); err != nil || len(docs) != n {
		t.Errorf("%d of %d documents, %v", len(docs), n, err)
	}
	add()
	if docs, err := other.All(ctx, ".json"); !errors.Is(err, documents.ErrTooLarge) || len(docs) != 0 || !strings.Contains(err.Error(), "*.json") {
		t.Errorf("%d documents, %v; want ErrTooLarge", len(docs), err)
	}
	if docs, err := other.All(ctx, ".none"); err != nil || len(docs) != 0 {
		t.Errorf("of another extension: %v, %v", docs, err)
	}
}
