package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// CountedMutex is a mutex that counts how often it was taken. A test bounds that count
// for one tool call.
type CountedMutex struct {
	sync.Mutex
	taken uint64
}

// Lock takes the mutex.
func (m *CountedMutex) Lock() {
	m.Mutex.Lock()
	m.taken++
}

// TimesTaken returns how often the mutex was taken.
func (m *CountedMutex) TimesTaken() uint64 {
	m.Mutex.Lock()
	defer m.Mutex.Unlock()
	return m.taken
}

// TimesLocked returns how often the table was locked.
func (t *Table) TimesLocked() uint64 { return t.mu.TimesTaken() }

// Table holds the bridge calls of one run from the request to the delivery of the
// answer: which calls wait for a slot, which are in flight, and which answers wait for
// the guest. It also holds what those calls cost: counters and charged bytes.
//
// A Table does not know about workers, stores or tools. Its methods are safe for
// concurrent use.
type Table struct {
	runID string
	key   string    // the idempotency key of its calls; "": each has its own
	slots int       // calls that may be in flight at once
	busy  *InFlight // calls in flight of all runs
	times *timing.Times

	mu       CountedMutex
	closed   bool // the run has ended: no call starts
	pending  map[uint64]*Entry
	lastID   uint64   // of the newest request
	queue    []*Entry // waiting for a slot
	inFlight int      // calls that have a slot
	inbox    []*Entry // settled, in the order of settling, not yet delivered

	unwritten int      // settled calls with answers on the way to the store
	changes   uint64   // counts changes of calls
	written   uint64   // the changes that the store knows
	imaged    []*Entry // calls that the stored image waits for

	clientCalls   map[uint64]*clientCall
	answered      []uint64  // calls that the client has answered
	onClient      int       // calls in flight that the client is to answer
	onApproval    int       // calls in flight that wait for a person
	approvalSince time.Time // when onApproval last rose from 0
	tellBy        time.Time // when the caller is to hear of calls that wait for an answer; zero: it has
	questions     []time.Time

	dispatched int // tools that may have taken effect
	changing   int // dispatched tools that are not read-only, and have not said that they had no effect
	counters   runstore.Counters
	account    Account
}

// Entry is one bridge call in the table, between its request and its delivery. The mu of
// the table guards it.
type Entry struct {
	runstore.Call
	changed  uint64 // Table.changes when the call last changed
	charged  int64  // bytes
	imaged   bool   // the newest image waits for it
	cancel   context.CancelCauseFunc
	Asking   bool // it is one of the session's questions to people
	Repeated bool // an earlier host may have made it
	changing bool // it counts in Table.changing
}

// New returns an empty table.
func New(runID string, slots int, busy *InFlight, times *timing.Times, a Account) *Table {
	return &Table{runID: runID, slots: slots, busy: busy, times: times, pending: make(map[uint64]*Entry), account: a}
}

// UseKey has every call of the run use one idempotency key. It comes before the first call.
func (t *Table) UseKey(key string) { t.key = key }

// PublicID names a call in results and events.
func PublicID(c *runstore.Call) string {
	return "bridge:" + c.Method + ":" + strconv.FormatUint(c.ID, 10)
}

// PublicID names the call in results and events.
func (c *Entry) PublicID() string { return PublicID(&c.Call) }

// IsTool reports whether the call runs a tool.
func (c *Entry) IsTool() bool {
	switch wire.Method(c.Method) {
	case wire.MethodCall, wire.MethodNamespace, wire.MethodMCP, wire.MethodProgram, wire.MethodSave:
		return true
	}
	return false
}

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
	for len(t.queue) > 0 && t.inFlight < t.slots && !t.closed && t.inboxBytes() <= MaxTurnBytes {
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

// MarkDispatched notes that the tool of a call may take effect from now on. It reports
// whether that is new.
func (t *Table) MarkDispatched(c *Entry, changing bool) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first = !c.Dispatched; first {
		c.Dispatched = true
		t.dispatched++
		if c.changing = changing; changing {
			t.changing++
		}
	}
	return first
}

// UnmarkDispatched undoes MarkDispatched: the tool has said that it took no effect.
func (t *Table) UnmarkDispatched(c *Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Dispatched = false
	t.dispatched--
	t.unmarkChanging(c)
}

// unmarkChanging notes that a call has had no effect. The caller holds mu.
func (t *Table) unmarkChanging(c *Entry) {
	if c.changing {
		c.changing = false
		t.changing--
	}
}

// IsUnchanged reports whether no tool that was called can have changed anything.
func (t *Table) IsUnchanged() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dispatched > 0 && t.changing == 0
}

// Settle enters the outcome of a call that has a slot, and frees the slot. It returns
// the calls that have got slots. If the store waits for the answer or for one of these
// calls, toStore is true: then deliver must follow once the store has both.
func (t *Table) Settle(c *Entry, tool *catalog.Tool, value json.RawMessage, err *fault.Rejection) (started []*Entry, toStore bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setAnswer(c, tool, value, err)
	if err != nil && err.EffectStatus == fault.EffectNone {
		t.unmarkChanging(c)
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
	if a := t.clientCalls[c.ID]; a != nil {
		delete(t.clientCalls, c.ID)
		close(a.settled)
	}
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

// inboxBytes is the size of the answers that wait. The caller holds mu.
func (t *Table) inboxBytes() (n int) {
	for _, c := range t.inbox {
		n += len(c.Answer)
	}
	return n
}

// WaitingBytes is inboxBytes for callers that do not hold mu.
func (t *Table) WaitingBytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inboxBytes()
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

// sorted returns the pending calls in request order. The caller holds mu.
func (t *Table) sorted() []*Entry {
	out := make([]*Entry, 0, len(t.pending))
	for _, c := range t.pending {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *Entry) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// List returns copies of the pending calls.
func (t *Table) List() (out []runstore.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.pending {
		out = append(out, c.Call)
	}
	return out
}

// Describe lists the calls that the guest still needs answers to, and the reason to give for
// waiting. See Describe.
func (t *Table) Describe(room int64) ([]codemode.PendingCall, codemode.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sorted := t.sorted()
	calls := make([]*runstore.Call, len(sorted))
	for i, c := range sorted {
		calls[i] = &c.Call
	}
	return Describe(calls, room)
}

// Idle reports whether no call is in flight or on the way to the store.
func (t *Table) Idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inFlight == 0 && t.unwritten == 0
}

// remove removes a call from the table. Its bytes stay charged as long as the newest
// image waits for it. The caller holds mu.
func (t *Table) remove(c *Entry) {
	delete(t.pending, c.ID)
	if !c.imaged {
		t.account.force(-c.charged)
		c.charged = 0
	}
}

// reweigh charges a call as it is now. The caller holds mu.
func (t *Table) reweigh(c *Entry) {
	n := c.heldBytes()
	t.account.force(n - c.charged)
	c.charged = n
}

// touch notes that a call has changed. The caller holds mu.
func (t *Table) touch(c *Entry) {
	t.changes++
	c.changed = t.changes
}

// Close ends the table: no call starts any more and no answer is journaled. It returns
// the calls that wait for approval.
func (t *Table) Close() (onApproval []runstore.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.account.close()
	t.queue = nil
	for _, c := range t.pending {
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
	t.pending[0] = c
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
	if c := t.pending[0]; c != nil && c.Method == MethodExec {
		return c
	}
	return nil
}

// TakeHeld removes the call that stands for the held program, which has settled.
func (t *Table) TakeHeld() *Entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.pending[0]
	t.remove(c)
	t.inbox = slices.DeleteFunc(t.inbox, func(i *Entry) bool { return i == c })
	return c
}

// maxTurnCPU is more processor time than any turn takes. A worker that reports more
// lies, and its run has used up its budget.
const maxTurnCPU = 2 * time.Hour

// Describe describes pending calls. The reason is yield only if every call is a
// yield, and approval if a person has to decide about a call, unless the client has to
// answer another call. Inputs that the client is to answer share room bytes; of an
// input beyond that, only the size is given.
func Describe(calls []*runstore.Call, room int64) ([]codemode.PendingCall, codemode.Reason) {
	reason, client, approval := codemode.ReasonYield, false, false
	out := []codemode.PendingCall{}
	for _, c := range calls {
		p := codemode.PendingCall{ID: PublicID(c), Method: c.Method, Tool: c.Tool}
		switch {
		case c.State == runstore.CallAsked:
			client = true
			if size := int64(len(c.Input)); size <= room {
				p.Input, room = c.Input, room-size
			} else {
				p.InputBytes = size
			}
		case AwaitedApproval(c) != "":
			approval = true
		}
		if c.Method == string(wire.MethodCall) && p.Tool == "" {
			p.Tool = c.Target
		}
		if c.Method != string(wire.MethodYield) {
			reason = codemode.ReasonPendingTools
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		reason = codemode.ReasonTimer
	}
	if approval && !client {
		reason = codemode.ReasonApproval
	}
	return out, reason
}

// MethodExec is the method of the call that stands for the program itself while a
// person decides whether it may start. No call of a guest has its id, 0.
const MethodExec = "exec"
