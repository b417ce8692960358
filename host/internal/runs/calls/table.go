package calls

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Table holds the bridge calls of one run from the request to the delivery of the
// answer: which calls wait for a slot, which are in flight, and which answers wait for
// the guest. Its parts hold what those calls cost, and what is asked about them.
//
// A Table does not know about workers, stores or tools. The exported methods of the table and
// of its parts are safe for concurrent use.
type Table struct {
	runID string
	key   string    // the idempotency key of its calls; "": each has its own
	slots int       // calls that may be in flight at once
	busy  *InFlight // calls in flight of all runs

	*pending
	Costs     *Costs
	Questions *Questions

	lastID    uint64   // of the newest request
	queue     []*Entry // waiting for a slot
	inFlight  int      // calls that have a slot
	inbox     []*Entry // settled, in the order of settling, not yet delivered
	unwritten int      // settled calls with answers on the way to the store
}

// New returns an empty table.
func New(runID string, slots int, busy *InFlight, times *timing.Times, a Account) *Table {
	p := &pending{byID: make(map[uint64]*Entry), account: a}
	costs := &Costs{pending: p}
	return &Table{runID: runID, slots: slots, busy: busy, pending: p, Costs: costs, Questions: &Questions{pending: p, costs: costs, times: times}}
}

// TimesLocked returns how often the table was locked.
func (t *Table) TimesLocked() uint64 { return t.mu.TimesTaken() }

// CallContext returns the context under which a call is performed. It ends with parent,
// when the guest cancels the call, or with done.
func (t *Table) CallContext(parent context.Context, c *Entry) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(parent)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.GivenUp {
		cancel(ErrCancelled)
	}
	c.cancel = cancel
	return ctx, func() { cancel(nil) }
}

// Start adds calls to the queue and returns those that have got a slot.
func (t *Table) Start(calls []*Entry) (started []*Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.enqueue(calls)
}

// enqueue adds calls to the queue and returns the calls that have got a slot. The
// caller holds mu.
func (t *Table) enqueue(calls []*Entry) (started []*Entry) {
	t.queue = append(t.queue, calls...)
	return t.fillSlots()
}

// fillSlots gives free slots to queued calls and returns them. The caller launches
// them once the store knows that they are in flight. While more answers wait than a
// turn carries, no call starts: a program has to take its answers first. The caller
// holds mu.
func (t *Table) fillSlots() (started []*Entry) {
	for len(t.queue) > 0 && t.inFlight < t.slots && !t.account.closed && answerBytes(slices.Values(t.inbox)) <= MaxTurnBytes {
		c := t.queue[0]
		t.queue = slices.Delete(t.queue, 0, 1)
		if c.State != runstore.CallApproval {
			c.State = runstore.CallInFlight
		}
		t.touch(c)
		t.inFlight++
		t.busy.Enter()
		started = append(started, c)
	}
	return started
}

// Resolved notes which tool a call means.
func (t *Table) Resolved(c *Entry, toolID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Tool = toolID
}

// ToolOf returns the id of the tool that a call means, if it is known.
func (t *Table) ToolOf(c *Entry) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.Tool
}

// Settle enters the outcome of a call that has a slot, and frees the slot. It returns
// the calls that have got slots. If the store waits for the answer or for one of these
// calls, toStore is true: then deliver must follow once the store has both.
func (t *Table) Settle(c *Entry, tool *catalog.Tool, value json.RawMessage, err *fault.Rejection) (started []*Entry, toStore bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setAnswer(c, tool, value, err)
	if err != nil && err.EffectStatus == fault.EffectNone {
		t.Costs.unmarkChanging(c)
	}
	c.cancel = nil
	t.inFlight--
	started = t.fillSlots()
	if c.imaged || slices.ContainsFunc(started, func(s *Entry) bool { return s.imaged }) {
		t.unwritten++
		return started, true
	}
	t.toInbox(c)
	return started, false
}

// Deliver puts a settled call into the inbox once the store has its answer.
func (t *Table) Deliver(c *Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwritten--
	t.toInbox(c)
}

func (t *Table) toInbox(c *Entry) {
	t.inbox = append(t.inbox, c)
	t.Questions.settled(c)
}

// SettleQuery enters the answer to a query and puts it into the inbox.
func (t *Table) SettleQuery(c *Entry, value json.RawMessage, err *fault.Rejection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setAnswer(c, nil, value, err)
	t.inbox = append(t.inbox, c)
}

// SettleYields answers every pending yield: the model came back.
func (t *Table) SettleYields() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.sorted() {
		if c.Method == string(wire.MethodYield) && c.State != runstore.CallSettled {
			t.setAnswer(c, nil, json.RawMessage("null"), nil)
			t.inbox = append(t.inbox, c)
		}
	}
}

// setAnswer enters the outcome of a call of a tool, which is nil if no tool was called.
// The caller holds mu.
func (t *Table) setAnswer(c *Entry, tool *catalog.Tool, value json.RawMessage, err *fault.Rejection) {
	t.touch(c)
	if d := t.account.charge(int64(len(value))); d != nil {
		value, err = nil, answerTooMuch(c, tool, d)
	}
	c.charged += int64(len(value))
	c.State, c.KeepUntil = runstore.CallSettled, time.Time{}
	c.OK, c.Answer = err == nil, value
	if err != nil {
		b, merr := json.Marshal(err.CallError)
		if merr != nil {
			b = []byte(`{"message":"the call failed"}`)
		}
		c.Answer = b
		t.reweigh(c)
	}
}

// MaxTurnBytes bounds the answers of one turn. What is beyond waits for the next
// turn. A single answer is never larger.
const MaxTurnBytes = 16 << 20

// WaitingBytes is the size of the answers in the inbox.
func (t *Table) WaitingBytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return answerBytes(slices.Values(t.inbox))
}

// DrainInbox takes answers out of the inbox in the order of their settling, as many as
// one turn may carry, and reports whether more are left. It returns the calls that have
// got slots since there is room.
func (t *Table) DrainInbox() (out []wire.Settlement, started []*Entry, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := 0
	for len(t.inbox) > 0 {
		c := t.inbox[0]
		size += len(c.Answer)
		if len(out) > 0 && size > MaxTurnBytes {
			break
		}
		answer := c.Answer
		if c.IsTool() {
			answer = textForIntegers(answer)
		}
		out = append(out, wire.Settlement{ID: c.ID, OK: c.OK, JSON: answer})
		t.inbox = slices.Delete(t.inbox, 0, 1)
		t.remove(c)
	}
	return out, t.fillSlots(), len(t.inbox) > 0
}

// List returns copies of the pending calls.
func (t *Table) List() (out []runstore.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.byID {
		out = append(out, c.Call)
	}
	return out
}

// Idle reports whether no call is in flight or on the way to the store.
func (t *Table) Idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inFlight == 0 && t.unwritten == 0
}

// Close ends the table: no call starts any more and no answer is journaled. It returns
// the calls that wait for approval.
func (t *Table) Close() (onApproval []runstore.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.account.close()
	t.queue = nil
	for _, c := range t.byID {
		if AwaitedApproval(&c.Call) != "" {
			onApproval = append(onApproval, c.Call)
		}
	}
	return onApproval
}

// Hold adds the call that stands for the program itself, about which a person is asked.
func (t *Table) Hold(c *Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byID[0] = c
}

// Release removes a call that was to be held, because there is nothing to ask.
func (t *Table) Release(c *Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(c)
}

// HeldProgram returns the call that stands for the held program, or nil.
func (t *Table) HeldProgram() *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.byID[0]; c != nil && c.Method == MethodExec {
		return c
	}
	return nil
}

// TakeHeld removes the call that stands for the held program, which has settled.
func (t *Table) TakeHeld() *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.byID[0]
	t.remove(c)
	t.inbox = slices.DeleteFunc(t.inbox, func(i *Entry) bool { return i == c })
	return c
}
