package runs

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// effectsStore is a store in memory. A test looks at its journals of effects.
type effectsStore struct {
	runstore.Memory
	opened func()
	puts   []put
}

type put struct {
	sync   bool
	effect runstore.Effect
}

func (s *effectsStore) OpenEffects(ctx context.Context, id string, header *runstore.Effects) (runstore.EffectJournal, error) {
	j, err := s.Memory.OpenEffects(ctx, id, header)
	if err != nil {
		return nil, err
	}
	if s.opened != nil {
		s.opened()
	}
	return &watchedJournal{j, s}, nil
}

type watchedJournal struct {
	runstore.EffectJournal
	store *effectsStore
}

func (j *watchedJournal) Put(sync bool, effects ...runstore.Effect) error {
	for _, e := range effects {
		j.store.puts = append(j.store.puts, put{sync, e})
	}
	return j.EffectJournal.Put(sync, effects...)
}

// TestAnEffectIsInTheJournalBeforeItsCall leaves, and on the disk before the program has
// the answer.
func TestAnEffectIsInTheJournalBeforeItsCall(t *testing.T) {
	t.Parallel()
	store := &effectsStore{}
	var before []put
	e := newTestEngine(t, store, nil, catalog.Tool{Name: "make", Revertible: true, Invoke: func(_ context.Context, inv catalog.Invocation) (json.RawMessage, error) {
		before = slices.Clone(store.puts)
		inv.RevertBy(catalog.Inverse{Tool: "remove", Input: json.RawMessage(`{"id":1}`)})
		return json.RawMessage(`1`), nil
	}})
	r := newTestRun(t, e)
	c := callOf(t, r, "make")
	if r.Perform(c, nil); !c.OK {
		t.Fatalf("the call was rejected: %s", c.Answer)
	}
	if len(before) != 1 || before[0].effect.State != runstore.EffectUnknown {
		t.Errorf("when the call leaves, the journal has %+v", before)
	}
	if len(store.puts) != 2 {
		t.Fatalf("the journal got %+v", store.puts)
	}
	if after := store.puts[1]; !after.sync || after.effect.State != runstore.EffectDone || after.effect.Number != before[0].effect.Number {
		t.Errorf("once it has an answer, the journal got %+v", after)
	}
}

// journaled makes the journal of a run that has ended, with one effect of each state.
func journaled(t *testing.T, store runstore.EffectStore, session codemode.Session, states ...runstore.EffectState) (runID string) {
	t.Helper()
	runID, err := run.NewID()
	if err != nil {
		t.Fatal(err)
	}
	j, err := store.OpenEffects(t.Context(), runID, &runstore.Effects{Session: session, Created: time.Now(), Expires: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for i, s := range states {
		n := i + 1
		err := j.Put(false, runstore.Effect{
			Number: n, CallID: string(rune('a' + i)), State: s, Inverse: "quoin:core:remove", Input: json.RawMessage(`{}`), Undo: run.Prefix + "00000000000000000000000000000000",
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return runID
}

// TestAnInverseIsRepeatedOnlyIfItMayBe: the run that called it is gone, so that no one
// knows whether it has taken effect.
func TestAnInverseIsRepeatedOnlyIfItMayBe(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tool   catalog.Tool
		repeat bool
	}{
		"idempotent": {catalog.Tool{Idempotent: true}, true},
		"read-only":  {catalog.Tool{ReadOnly: true}, true},
		"neither":    {catalog.Tool{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, session := &effectsStore{}, codemode.Session{SessionID: "s"}
			tt.tool.Name = "remove"
			e := newTestEngine(t, store, nil, tt.tool)
			e.Views = fixedViews{e.Views.(fixedViews).view, codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost, "no program starts")}
			id := journaled(t, store, session, runstore.EffectReverting)
			u, err := Effects{e}.Undo(t.Context(), session, id, nil)
			if err != nil {
				t.Fatal(err)
			}
			effect := u.Effects.Effects[0]
			if called := effect.Undo != run.Prefix+"00000000000000000000000000000000"; called != tt.repeat || !u.Stopped {
				t.Errorf("called again: %v, want %v; the journal has %+v", called, tt.repeat, effect)
			}
			undoing := &undoing{engine: e, session: session}
			lost := &codemode.Result{Status: codemode.StatusCompleted, Value: json.RawMessage(`{"error":"the connection was lost","effect":"unknown"}`)}
			want := runstore.EffectReverting
			if tt.repeat {
				want = runstore.EffectFailed // it is called again
			}
			if state, reason := undoing.outcome(effect, lost); state != want {
				t.Errorf("an outcome that is not known: %v, %s; want %v", state, reason, want)
			}
		})
	}
}

// TestARunThatGoesOnIsNotUndone, also where another host resumes it before its journal is opened.
func TestARunThatGoesOnIsNotUndone(t *testing.T) {
	t.Parallel()
	store, session := &effectsStore{}, codemode.Session{SessionID: "s"}
	e := newTestEngine(t, store, nil, catalog.Tool{Name: "remove"})
	id := journaled(t, store, session, runstore.EffectDone)
	store.opened = func() {
		if _, err := store.Create(t.Context(), &runstore.Record{ID: id, Session: session, Generation: 1, Expires: time.Now().Add(time.Hour)}, 0); err != nil {
			t.Error(err)
		}
	}
	store.puts = nil
	_, err := Effects{e}.Undo(t.Context(), session, id, nil)
	var f *codemode.Error
	if !errors.As(err, &f) || f.Reason != codemode.ReasonRunBusy || len(store.puts) != 0 {
		t.Errorf("got %v, and the journal %+v", err, store.puts)
	}
}

// TestCallsToSkip: what is undone, or was never done, cannot be left out.
func TestCallsToSkip(t *testing.T) {
	t.Parallel()
	states := map[runstore.EffectState]bool{
		runstore.EffectDone: true, runstore.EffectFailed: true, runstore.EffectReverting: true, runstore.EffectSkipped: true,
		runstore.EffectReverted: false, runstore.EffectNone: false, runstore.EffectFinal: false, runstore.EffectUnknown: false,
	}
	for state, ok := range states {
		store := &effectsStore{}
		e := newTestEngine(t, store, nil)
		id := journaled(t, store, codemode.Session{}, state)
		j, err := store.OpenEffects(t.Context(), id, nil)
		if err != nil {
			t.Fatal(err)
		}
		u := &undoing{engine: e, journal: j, runID: id}
		f := u.skip([]string{"a"})
		now := j.Effects().Effects[0].State
		if want := map[bool]runstore.EffectState{true: runstore.EffectSkipped, false: state}[ok]; (f == nil) != ok || now != want {
			t.Errorf("of a call that is %v: %v, and then it is %v", state, f, now)
		}
		j.Close()
	}
}
