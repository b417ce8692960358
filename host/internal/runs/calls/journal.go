package calls

import (
	"cmp"
	"maps"
	"slices"

	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Record puts fresh calls into the queue and what the table holds into a Record, which complete
// then completes while the table does not change. It returns the calls that have got a slot.
func (t *Table) Record(r *runstore.Record, fresh []*Entry, identify func(*Entry), complete func(*runstore.Record)) (started []*Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	started = t.enqueue(fresh)
	r.Calls = t.takeImage(identify)
	r.Answered = slices.Clone(t.Questions.answered)
	r.Dispatched, r.Counters = t.Costs.dispatched > 0, t.Costs.counters
	complete(r)
	for _, c := range r.Calls {
		r.Expires = Later(r.Expires, c.KeepUntil)
	}
	return started
}

// News returns the calls of the newest image that have changed since the store was
// told, and the count of changes to give to wrote.
func (t *Table) News() (calls []runstore.Call, upTo uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.imaged {
		if !t.account.closed && c.changed > t.written {
			calls = append(calls, c.Call)
		}
	}
	return calls, t.changes
}

// Wrote notes that the store has the changes up to that count.
func (t *Table) Wrote(upTo uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written = upTo
}

// AnswerBytes is the size of all answers that the guest has not got.
func (t *Table) AnswerBytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return answerBytes(maps.Values(t.byID))
}

// Revive adds the calls of a record.
func (t *Table) Revive(rec *runstore.Record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Costs.counters = rec.Counters
	dispatched := 0
	if rec.Dispatched {
		dispatched++
	}
	for _, stored := range rec.Calls {
		t.byID[stored.ID] = &Entry{Call: stored}
		t.lastID = max(t.lastID, stored.ID)
		if WentOut(stored) {
			dispatched++
		}
	}
	t.Costs.dispatched, t.Costs.changing = dispatched, dispatched // for all that is known
	// An answer that was given and is not in the journal was lost with its host, so the
	// client is asked for it again.
	t.Questions.answered = slices.DeleteFunc(slices.Clone(rec.Answered), func(id uint64) bool {
		c := t.byID[id]
		return c != nil && c.State != runstore.CallSettled
	})
	t.setImaged(t.sorted())
}

// Redrive queues the calls that can continue, and rejects the others in flight. It returns
// the calls that have got slots, and the rejected ones.
func (t *Table) Redrive(mayRepeat func(*Entry) bool) (started, lost []*Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.sorted() {
		switch {
		case c.State == runstore.CallSettled:
			t.inbox = append(t.inbox, c)
		case !c.IsTool() && c.Method != MethodExec:
		case c.State != runstore.CallInFlight || mayRepeat(c):
			c.Repeated = c.State == runstore.CallInFlight && c.Method != MethodExec && c.Method != string(wire.MethodProgram)
			t.queue = append(t.queue, c)
		default:
			t.setAnswer(c, nil, nil, interrupted(c))
			t.inbox = append(t.inbox, c)
			lost = append(lost, c)
		}
	}
	return t.fillSlots(), lost
}

// interrupted rejects a call that was in flight when a host stopped.
func interrupted(c *Entry) *fault.Rejection {
	e := fault.Reject(fault.CodeInterrupted, "The host stopped while %q was running, so whether it took effect is unknown. Check before you call it again.", cmp.Or(c.Tool, c.Target))
	e.ToolID, e.EffectStatus, e.Unknown = c.Tool, fault.EffectUnknown, true
	return e
}

// WentOut reports whether a tool may have been called.
func WentOut(c runstore.Call) bool {
	return c.Dispatched || (&Entry{Call: c}).IsTool() && c.State == runstore.CallInFlight
}
