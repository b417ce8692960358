package upkeep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// brokenStore has a run that cannot be read.
type brokenStore struct {
	runstore.Store
	err   error
	reads int
}

func (s *brokenStore) Get(context.Context, string) (*runstore.Record, error) {
	s.reads++
	return nil, s.err
}

// stoppedClock stands still until a test moves it.
type stoppedClock struct {
	run.RealClock
	now time.Time
}

func (c *stoppedClock) Now() time.Time { return c.now }

// idleAdvancer is an advancer of one place that looks for nothing by itself.
func idleAdvancer(t *testing.T, store runstore.Store, clock run.Clock, log *slog.Logger) *Advancer {
	t.Helper()
	return idleAdvancerOf(t, 1, store, clock, log)
}

func idleAdvancerOf(t *testing.T, places int, store runstore.Store, clock run.Clock, log *slog.Logger) *Advancer {
	t.Helper()
	return advancerOf(t, places, run.Config{Store: store, Logger: log}, clock, fakeRuns{})
}

func advancerOf(t *testing.T, places int, c run.Config, clock run.Clock, runs Runs) *Advancer {
	c.Quotas, c.Times = codemode.Quotas{}.WithDefaults(), timing.Defaults
	return NewAdvancer(drive.NewEnv(&run.Env{Config: c, Clock: clock, Life: t.Context()}), runs, places)
}

// fakeRuns has no run of this process.
type fakeRuns struct {
	advance func(id string) // may be nil
}

func (fakeRuns) ByID(string) *drive.Run                           { return nil }
func (fakeRuns) OwnedBy(func(codemode.Session) bool) []*drive.Run { return nil }

func (f fakeRuns) Advance(_ context.Context, _ codemode.Session, id string) (bool, *codemode.Error) {
	if f.advance != nil {
		f.advance(id)
	}
	return true, nil
}

// TestARunThatCannotGoOnIsLeftAlone for longer and longer, and the log has it once.
func TestARunThatCannotGoOnIsLeftAlone(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	store, clock := &brokenStore{err: errors.New("the disk is gone")}, &stoppedClock{now: time.Now()}
	a := idleAdvancer(t, store, clock, slog.New(slog.NewTextHandler(&log, nil)))
	attempts := func(d time.Duration) int {
		before := store.reads
		clock.now = clock.now.Add(d)
		for range 5 {
			a.consider("run")
			a.loop.Wait()
		}
		return store.reads - before
	}
	var got []int
	for _, d := range []time.Duration{0, 999 * time.Millisecond, time.Millisecond, time.Second, time.Second, 2 * time.Second, 2 * time.Second, timing.Defaults.LongestPause, timing.Defaults.LongestPause} {
		got = append(got, attempts(d))
	}
	if want := "[1 0 1 0 1 0 1 1 1]"; fmt.Sprint(got) != want {
		t.Errorf("attempts %v, want %s", got, want)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "the disk is gone") {
		t.Errorf("the log has %d lines:\n%s", n, log.String())
	}
	a.YieldTo(t.Context(), "run")() // a caller has looked at it
	if got := attempts(0); got != 1 {
		t.Errorf("%d attempts after a caller came", got)
	}
}

// TestWhatIsNotForAnAdvancer: a run that another process has, or that is gone, is nothing to
// report or to remember.
func TestWhatIsNotForAnAdvancer(t *testing.T) {
	t.Parallel()
	for _, err := range []error{runstore.ErrClaimed, runstore.ErrNotFound, runstore.ErrExpired, runstore.ErrEnded} {
		var log bytes.Buffer
		a := idleAdvancer(t, &brokenStore{err: err}, run.RealClock{}, slog.New(slog.NewTextHandler(&log, nil)))
		a.consider("run")
		a.loop.Wait()
		if len(a.pauses) != 0 || log.Len() != 0 {
			t.Errorf("%v: %d pauses, log %s", err, len(a.pauses), log.String())
		}
	}
}

// TestPausesAreBounded: however many runs cannot continue, no more than maxPauses are
// remembered.
func TestPausesAreBounded(t *testing.T) {
	t.Parallel()
	clock := &stoppedClock{now: time.Now()}
	a := idleAdvancer(t, &brokenStore{}, clock, slog.New(slog.DiscardHandler))
	for i := range maxPauses + 10 {
		a.couldNot(fmt.Sprint(i), nil)
	}
	if len(a.pauses) != maxPauses {
		t.Errorf("%d pauses", len(a.pauses))
	}
	clock.now = clock.now.Add(2 * timing.Defaults.FirstPause)
	a.couldNot("another", nil)
	if _, ok := a.pauses["another"]; !ok || len(a.pauses) != 1 {
		t.Errorf("%d pauses after theirs were over", len(a.pauses))
	}
}

// TestACallerComesFirst: while a caller has a run it is not advanced, and a hint that comes
// in that time is no advance later either.
func TestACallerComesFirst(t *testing.T) {
	t.Parallel()
	store := &brokenStore{err: runstore.ErrNotFound}
	a := idleAdvancer(t, store, run.RealClock{}, slog.New(slog.DiscardHandler))
	one, two := a.YieldTo(t.Context(), "run"), a.YieldTo(t.Context(), "run")
	for _, release := range []func(){one, two} {
		a.consider("run")
		a.loop.Wait()
		if store.reads != 0 {
			t.Fatal("it was advanced while a caller had it")
		}
		release()
	}
	a.consider("run")
	a.loop.Wait()
	if store.reads != 1 || len(a.callers) != 0 {
		t.Errorf("%d reads, %d callers left", store.reads, len(a.callers))
	}
}

// TestNoAdvancer: an engine that is not to advance has none, and asks it all the same.
func TestNoAdvancer(t *testing.T) {
	t.Parallel()
	var a *Advancer
	a.Hint("run")
	a.YieldTo(t.Context(), "run")()
	a.Stop()
	if NewAdvancer(nil, fakeRuns{}, 0) != nil {
		t.Error("there is one")
	}
}

// dueStore has runs that are due and cannot continue.
type dueStore struct {
	brokenStore
	due []string

	mu   sync.Mutex
	read map[string]int
}

func (s *dueStore) Wake(context.Context, string) error { return nil }

func (s *dueStore) Due(_ context.Context, limit int) ([]string, error) {
	return s.due[:min(limit, len(s.due))], nil
}

func (s *dueStore) Watch(context.Context) <-chan string { return nil }

func (s *dueStore) Get(_ context.Context, id string) (*runstore.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read[id]++
	return nil, s.err
}

// TestRunsThatCannotGoOnLetOthersGoOn: however many of the oldest runs are left alone, the
// poll finds those after them.
func TestRunsThatCannotGoOnLetOthersGoOn(t *testing.T) {
	t.Parallel()
	store := &dueStore{brokenStore: brokenStore{err: runstore.ErrCorrupt}, read: map[string]int{}}
	for i := range 3 * candidatesAPlace {
		store.due = append(store.due, fmt.Sprint(i))
	}
	a := idleAdvancer(t, store, &stoppedClock{now: time.Now()}, slog.New(slog.DiscardHandler))
	for range 3 * candidatesAPlace {
		a.lookAtStore()
		a.loop.Wait()
	}
	for _, id := range store.due {
		if store.read[id] != 1 {
			t.Errorf("run %s was tried %d times, want 1", id, store.read[id])
		}
	}
}

// TestABusyHostTellsWhatIsDue: without room the store is asked all the same, for those who
// look at its metrics, and nothing is taken up.
func TestABusyHostTellsWhatIsDue(t *testing.T) {
	t.Parallel()
	store := &dueStore{brokenStore: brokenStore{err: runstore.ErrCorrupt}, due: []string{"a", "b"}, read: map[string]int{}}
	a := idleAdvancer(t, store, &stoppedClock{now: time.Now()}, slog.New(slog.DiscardHandler))
	for i := range candidatesAPlace {
		a.advances[fmt.Sprint(i)] = &advance{}
	}
	a.lookAtStore()
	a.loop.Wait()
	if due := a.due.Load(); due != 1 || len(store.read) != 0 {
		t.Errorf("%d due, and %v were taken up; want one due and none", due, store.read)
	}
	clear(a.advances)
}

// gatedStore has runs, each of a session of its own, that are let go one by one while they
// are advanced.
type gatedStore struct {
	runstore.Store
	entered []string // by runs that are advanced
	open    chan struct{}
}

func (s *gatedStore) Get(_ context.Context, id string) (*runstore.Record, error) {
	return &runstore.Record{ID: id, Session: codemode.Session{SessionID: id}}, nil
}

// advance is of a run that has a place.
func (s *gatedStore) advance(id string) {
	s.entered = append(s.entered, id)
	<-s.open
}

// TestNoMoreRunsAreAdvancedThanThereArePlaces: one more than there are places waits until
// another leaves its place.
func TestNoMoreRunsAreAdvancedThanThereArePlaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const places = 3
		store := &gatedStore{open: make(chan struct{})}
		a := advancerOf(t, places, run.Config{Store: store, Logger: slog.New(slog.DiscardHandler)}, run.RealClock{}, fakeRuns{store.advance})
		for i := range places + 1 {
			a.consider(fmt.Sprint(i))
			synctest.Wait()
		}
		if got := fmt.Sprint(store.entered); got != "[0 1 2]" {
			t.Errorf("%s are advanced at once in %d places", got, places)
		}
		store.open <- struct{}{}
		synctest.Wait()
		if got := fmt.Sprint(store.entered); got != "[0 1 2 3]" {
			t.Errorf("%s were advanced once a place was free", got)
		}
		close(store.open)
		a.loop.Wait()
	})
}

// listedApprovals are those that people have decided about.
type listedApprovals struct {
	policy.Approvals
	list []*policy.Approval
}

func (l listedApprovals) List(context.Context) ([]*policy.Approval, error) { return l.list, nil }

// namedStore is a store of one machine.
type namedStore struct {
	runstore.Store
	approval string // that each run waits for
}

func (s *namedStore) Identity() string                                { return "mine" }
func (s *namedStore) Reserve(context.Context, string) (func(), error) { return func() {}, nil }

func (s *namedStore) Get(_ context.Context, id string) (*runstore.Record, error) {
	return &runstore.Record{ID: id, Calls: []runstore.Call{{ID: 1, Method: "call", State: runstore.CallApproval, Approval: s.approval}}}, nil
}

// TestApprovalsOfAnotherStoreAreLeftToItsHost: runs of both may have one id, after a move.
func TestApprovalsOfAnotherStoreAreLeftToItsHost(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"mine", "other"} {
		advanced := make(chan string, 4)
		approvals := listedApprovals{list: []*policy.Approval{{ID: "apr_1", RunID: "run_1", Store: of, State: policy.StateAllowed}}}
		c := run.Config{Store: &namedStore{approval: "apr_1"}, ApprovalStore: approvals, Logger: slog.New(slog.DiscardHandler)}
		a := advancerOf(t, 1, c, run.RealClock{}, fakeRuns{func(id string) { advanced <- id }})
		a.lookAtDecisions()
		a.loop.Wait()
		if goesOn := len(advanced) > 0; goesOn != (of == "mine") {
			t.Errorf("after a decision about a run of the store %q it goes on: %v", of, goesOn)
		}
	}
}
