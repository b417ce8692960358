package runstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

func ended(id string, result string) *runstore.Ended {
	return &runstore.Ended{ID: id, Session: codemode.Session{SessionID: "s"}, Expires: time.Now().Add(time.Hour), Result: []byte(result)}
}

// TestEnded: a result takes the place of its run, is there until it is forgotten or
// its time is over, and takes no place of a suspended run.
func TestEnded(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		if err := runstore.Alone(s).Put(ctx, record("a"), 1); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ended(ctx, "a"); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("Ended of a suspended run: %v", err)
		}
		want := ended("a", `{"status":"completed"}`)
		if err := runstore.Alone(s).End(ctx, want); err != nil {
			t.Fatal(err)
		}
		got, err := s.Ended(ctx, "a")
		if err != nil || string(got.Result) != string(want.Result) || got.Session != want.Session {
			t.Errorf("Ended: %+v, %v", got, err)
		}
		if _, err := s.Get(ctx, "a"); !errors.Is(err, runstore.ErrEnded) {
			t.Errorf("Get: %v, want ErrEnded", err)
		}
		if list, err := s.List(ctx); err != nil || len(list) != 0 {
			t.Errorf("List: %v, %v", list, err)
		}
		if err := runstore.Alone(s).Put(ctx, record("b"), 1); err != nil {
			t.Errorf("a result takes a place: %v", err)
		}
		if _, err := s.Sweep(ctx, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ended(ctx, "a"); err != nil {
			t.Errorf("Sweep took a result: %v", err)
		}
		if err := runstore.Alone(s).Delete(ctx, "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(ctx, "a"); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("Get after Delete: %v", err)
		}
		old := ended("old", `{}`)
		old.Expires = time.Now().Add(-time.Second)
		if err := runstore.Alone(s).End(ctx, old); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ended(ctx, "old"); !errors.Is(err, runstore.ErrExpired) {
			t.Errorf("an old result: %v, want ErrExpired", err)
		}
		if _, err := s.Sweep(ctx, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ended(ctx, "old"); !errors.Is(err, runstore.ErrNotFound) {
			t.Errorf("a swept result: %v, want ErrNotFound", err)
		}
	})
}

// TestEndedIsBounded: the results that were put first make room.
func TestEndedIsBounded(t *testing.T) {
	eachStore(t, func(t *testing.T, s runstore.Store) {
		ctx := context.Background()
		for i := range runstore.MaxEnded + 3 {
			e := ended(fmt.Sprintf("r%03d", i), `{}`)
			e.Expires = e.Expires.Add(time.Duration(i) * time.Second)
			if err := runstore.Alone(s).End(ctx, e); err != nil {
				t.Fatal(err)
			}
		}
		there := 0
		for i := range runstore.MaxEnded + 3 {
			if _, err := s.Ended(ctx, fmt.Sprintf("r%03d", i)); err == nil {
				there++
			} else if i >= 3 {
				t.Errorf("r%03d: %v", i, err)
			}
		}
		if there != runstore.MaxEnded {
			t.Errorf("%d results are kept, want %d", there, runstore.MaxEnded)
		}
		if err := runstore.Alone(s).End(ctx, ended("huge", string(make([]byte, runstore.MaxEndedBytes+1)))); !errors.Is(err, runstore.ErrTooLarge) {
			t.Errorf("a result that is too large: %v", err)
		}
	})
}

// TestAnEndedRunIsSealed: an altered result is not returned, and its run does not
// come back.
func TestAnEndedRunIsSealed(t *testing.T) {
	dir := t.TempDir()
	s, err := runstore.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := runstore.Alone(s).End(t.Context(), ended("a", `{"status":"completed"}`)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "a.end")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Ended(t.Context(), "a"); !errors.Is(err, runstore.ErrCorrupt) {
		t.Errorf("Ended: %v, want ErrCorrupt", err)
	}
	if _, err := s.Get(t.Context(), "a"); !errors.Is(err, runstore.ErrEnded) {
		t.Errorf("Get: %v, want ErrEnded", err)
	}
}
