package runstore_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// scheduling is what the tests of Scheduler need of a store.
type scheduling interface {
	runstore.Store
	runstore.Scheduler
}

// schedulers are stores that know which runs are due; elsewhere is the same store in another
// process, if it has one.
func schedulers(t *testing.T) map[string]func() (here, elsewhere scheduling) {
	return map[string]func() (here, elsewhere scheduling){
		"memory": func() (scheduling, scheduling) {
			m := &runstore.Memory{}
			return m, m
		},
		"directory": func() (scheduling, scheduling) {
			dir := t.TempDir()
			return opened(t, dir), opened(t, dir)
		},
	}
}

func opened(t *testing.T, dir string) *runstore.Dir {
	t.Helper()
	d, err := runstore.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// created stores a run and releases it.
func created(t *testing.T, s runstore.Store, r *runstore.Record) {
	t.Helper()
	r.Format, r.Generation, r.Expires = runstore.FormatVersion, 1, time.Now().Add(time.Hour)
	c, err := s.Create(t.Context(), r, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
}

func wantDue(t *testing.T, s runstore.Scheduler, want ...string) {
	t.Helper()
	got, err := s.Due(t.Context(), 10)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("due are %q (%v), want %q", got, err, want)
	}
}

// TestDue: a run is due by its record, or because it was woken, unless it is claimed; those
// that have been due for longest come first.
func TestDue(t *testing.T) {
	for name, open := range schedulers(t) {
		t.Run(name, func(t *testing.T) {
			s, elsewhere := open()
			call := func(state runstore.CallState) []runstore.Call {
				return []runstore.Call{{ID: 1, Method: "call", State: state}}
			}
			now := time.Now()
			for id, r := range map[string]*runstore.Record{
				"later":    {TimerDue: now.Add(time.Hour)},
				"rang":     {TimerDue: now.Add(-time.Minute)},
				"first":    {TimerDue: now.Add(-time.Hour)},
				"answered": {Calls: call(runstore.CallSettled)},
				"orphaned": {Calls: call(runstore.CallInFlight), TimerDue: now.Add(time.Hour)},
				"asked":    {Calls: call(runstore.CallAsked)},
				"approval": {Calls: call(runstore.CallApproval)},
				"queued":   {Calls: call(runstore.CallQueued)},
				"live":     {Live: true, Calls: call(runstore.CallInFlight)},
			} {
				r.ID = id
				created(t, s, r)
			}
			wantDue(t, elsewhere, "answered", "orphaned", "first", "rang")
			wantDue(t, elsewhere, "answered", "orphaned", "first", "rang") // from what it knows
			if two, err := s.Due(t.Context(), 2); err != nil || len(two) != 2 {
				t.Errorf("got %q, %v", two, err)
			}

			if err := s.Wake(t.Context(), "approval"); err != nil {
				t.Fatal(err)
			}
			if err := s.Wake(t.Context(), "nothing"); err != nil {
				t.Errorf("waking a run that is not there: %v", err)
			}
			wantDue(t, elsewhere, "answered", "orphaned", "first", "rang", "approval")
			var claims []runstore.Claim
			for _, id := range []string{"answered", "first", "approval"} {
				c, err := s.Claim(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				claims = append(claims, c)
			}
			wantDue(t, elsewhere, "orphaned", "rang")
			if err := claims[0].End(t.Context(), &runstore.Ended{ID: "answered", Expires: now.Add(time.Hour), Result: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			if err := claims[1].Checkpoint(t.Context(), &runstore.Record{ID: "first", Format: runstore.FormatVersion, Generation: 2, Expires: now.Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
			for _, c := range claims {
				c.Release()
			}
			wantDue(t, elsewhere, "orphaned", "rang") // that claim has seen why approval was woken
		})
	}
}

// TestAJournalMakesARunDue: what a host that has died has noted is seen.
func TestAJournalMakesARunDue(t *testing.T) {
	for name, open := range schedulers(t) {
		t.Run(name, func(t *testing.T) {
			s, elsewhere := open()
			created(t, s, &runstore.Record{ID: "run", Calls: []runstore.Call{{ID: 1, Method: "call", State: runstore.CallQueued}}})
			wantDue(t, elsewhere)
			c, err := s.Claim(t.Context(), "run")
			if err != nil {
				t.Fatal(err)
			}
			if err := c.PutCalls(t.Context(), 1, []runstore.Call{{ID: 1, Method: "call", State: runstore.CallSettled, OK: true, Answer: []byte("1")}}); err != nil {
				t.Fatal(err)
			}
			wantDue(t, elsewhere)
			c.Release()
			wantDue(t, elsewhere, "run")
		})
	}
}

// TestWatch: who watches hears of a run that was woken, also in another process.
func TestWatch(t *testing.T) {
	for name, open := range schedulers(t) {
		t.Run(name, func(t *testing.T) {
			s, elsewhere := open()
			created(t, s, &runstore.Record{ID: "run"})
			ctx, cancel := context.WithCancel(t.Context())
			here, there := s.Watch(ctx), elsewhere.Watch(ctx)
			if err := s.Wake(t.Context(), "run"); err != nil {
				t.Fatal(err)
			}
			for _, c := range []<-chan string{here, there} {
				if id := <-c; id != "run" {
					t.Errorf("got %q", id)
				}
			}
			cancel()
			for range here { // it is closed
			}
			for range there {
			}
		})
	}
}

// TestDueWithStrangeFiles: what is no run does not keep the others from being found.
func TestDueWithStrangeFiles(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	created(t, s, &runstore.Record{ID: "rang", TimerDue: time.Now().Add(-time.Minute)})
	if err := s.Wake(t.Context(), "rang"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"broken.run", "woken/gone", "woken/not an id", "woken/broken"} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wantDue(t, s, "rang")
	wantDue(t, s, "rang")
	if _, err := os.Lstat(filepath.Join(dir, "woken", "gone")); !os.IsNotExist(err) {
		t.Errorf("the mark of a run that has ended stays: %v", err)
	}
}
