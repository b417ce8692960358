package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
)

// Effects is what the calls of a run have changed, and how that is undone. The journal
// is opened by the first call of a tool that says how its calls are undone; a run
// without such a call has no journal.
//
// An effect is in the journal before its call leaves, as unknown, and again once the
// tool has answered, before the program gets the answer.
type Effects struct {
	store       runstore.EffectStore // nil: nothing is kept
	runID       string
	countFenced func(error) error
	header      func() *runstore.Effects // of a new journal

	mu      sync.Mutex
	journal runstore.EffectJournal // nil: not open
	stored  bool                   // while it is not open, the store may have a journal
	numbers map[string]int         // of the effects of the journal, by call
	last    int                    // the newest number
	pending []runstore.Effect      // there is no journal yet; they get their numbers there
	omitted int                    // calls that pending has no room for
}

// NewEffects returns the log of a run in a store. Each error of a write goes through
// countFenced; header makes the head of a journal.
func NewEffects(store runstore.Store, runID string, countFenced func(error) error, header func() *runstore.Effects) *Effects {
	f := &Effects{runID: runID, countFenced: countFenced, header: header}
	f.store, _ = store.(runstore.EffectStore)
	return f
}

// Keeps reports whether the store Keeps effects.
func (f *Effects) Keeps() bool { return f.store != nil }

// Revive makes it the log of a record, which has effects that no journal has.
func (f *Effects) Revive(unwritten []runstore.Effect) { f.pending, f.stored = unwritten, true }

// maxPendingEffects bounds what is remembered of calls before the journal is opened.
const maxPendingEffects = 256

// Unwritten returns the effects that no journal has.
func (f *Effects) Unwritten() []runstore.Effect {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.pending)
}

// Close lets others have the journal.
func (f *Effects) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closeLocked()
}

func (f *Effects) closeLocked() {
	if f.journal != nil {
		f.journal.Close()
		f.journal, f.stored = nil, true
	}
}

// Inverse is what a tool says of how its call is undone.
type Inverse struct {
	said atomic.Pointer[catalog.Inverse]
}

// Taker returns what a tool calls; nil for a tool with calls that cannot be undone.
func (i *Inverse) Taker() func(catalog.Inverse) {
	if i == nil {
		return nil
	}
	return func(v catalog.Inverse) { i.said.Store(&v) }
}

// Effect returns what a call has changed after its tool has answered.
func (i *Inverse) Effect(tool *catalog.Tool) runstore.Effect {
	if i == nil {
		return runstore.Effect{State: runstore.EffectFinal, Reason: "its tool says no way to undo it"}
	}
	v := i.said.Load()
	switch {
	case v == nil:
		return runstore.Effect{State: runstore.EffectNone}
	case v.Impossible != "":
		return runstore.Effect{State: runstore.EffectFinal, Reason: v.Impossible}
	case v.Tool == "" || !isObject(v.Input):
		return runstore.Effect{State: runstore.EffectFinal, Reason: "its tool has named no inverse: expected a tool, and an input that is a JSON object"}
	}
	undoer := catalog.Tool{Source: tool.Source, Owner: tool.Owner, Name: v.Tool}
	return runstore.Effect{State: runstore.EffectDone, Inverse: undoer.ID(), Input: v.Input}
}

// EffectOfFailure returns what a call has changed after its tool has failed.
func EffectOfFailure(e *fault.Rejection) runstore.Effect {
	switch {
	case e.Unknown:
		return runstore.Effect{State: runstore.EffectUnknown, Reason: e.Message}
	case e.EffectStatus == fault.EffectDone:
		return runstore.Effect{State: runstore.EffectFinal, Reason: "it took effect and failed: " + e.Message}
	}
	return runstore.Effect{State: runstore.EffectNone}
}

// Put writes an effect to the journal, which is made for a tool with calls that can be
// undone. Others wait for that. It sets e.Number. A run that is over releases the journal.
func (f *Effects) Put(ctx context.Context, e *runstore.Effect, revertible bool, isOver func() bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.journal == nil {
		err := f.open(ctx, revertible)
		switch {
		case err != nil && revertible:
			return err
		case f.journal == nil:
			if len(f.pending) < maxPendingEffects {
				f.pending = append(f.pending, *e)
			} else {
				f.omitted++
			}
			return err
		}
	}
	if e.Number == 0 {
		e.Number = f.number(e.CallID)
	}
	// The process may be killed before the tool answers, the power may fail later.
	err := f.countFenced(f.journal.Put(revertible && e.State != runstore.EffectUnknown, *e))
	if isOver() { // the call was given up, and the run has released the journal
		f.closeLocked()
	}
	return err
}

// open opens the journal of the run. Without one it makes one, if it may. The caller holds mu.
func (f *Effects) open(ctx context.Context, mayMake bool) error {
	if !mayMake && !f.stored {
		return nil
	}
	var header *runstore.Effects
	if mayMake {
		header = f.header()
		header.Omitted = f.omitted
	}
	journal, err := f.store.OpenEffects(ctx, f.runID, header)
	if !mayMake && (errors.Is(err, runstore.ErrNotFound) || errors.Is(err, runstore.ErrExpired)) {
		f.stored = false
		return nil
	}
	if err != nil {
		return err
	}
	f.journal, f.numbers = journal, make(map[string]int)
	for _, known := range journal.Effects().Effects {
		f.numbers[known.CallID] = known.Number
		f.last = max(f.last, known.Number)
	}
	if len(f.pending) == 0 {
		return nil
	}
	for i := range f.pending {
		f.pending[i].Number = f.number(f.pending[i].CallID)
	}
	if err := f.countFenced(journal.Put(false, f.pending...)); err != nil {
		return err
	}
	f.pending = nil
	return nil
}

// number returns the number of the effect of a call: the number of its first attempt, or a
// new one. The caller holds mu.
func (f *Effects) number(callID string) int {
	n := f.numbers[callID]
	if n == 0 {
		f.last++
		n = f.last
		f.numbers[callID] = n
	}
	return n
}

// isObject reports whether b is a JSON object.
func isObject(b json.RawMessage) bool {
	return json.Valid(b) && bytes.HasPrefix(bytes.TrimSpace(b), []byte("{"))
}
