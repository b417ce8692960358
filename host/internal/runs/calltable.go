package runs

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

// countedMutex is a mutex that counts how often it was taken. A test bounds that count
// for one tool call.
type countedMutex struct {
	sync.Mutex
	taken uint64
}

// Lock takes the mutex.
func (m *countedMutex) Lock() {
	m.Mutex.Lock()
	m.taken++
}

// timesTaken returns how often the mutex was taken.
func (m *countedMutex) timesTaken() uint64 {
	m.Mutex.Lock()
	defer m.Mutex.Unlock()
	return m.taken
}

// timesLocked returns how often the table was locked.
func (t *callTable) timesLocked() uint64 { return t.mu.timesTaken() }

// callTable holds the bridge calls of one run from the request to the delivery of the
// answer: which calls wait for a slot, which are in flight, and which answers wait for
// the guest. It also holds what those calls cost: counters and charged bytes.
//
// A callTable does not know about workers, stores or tools. Its methods are safe for
// concurrent use.
type callTable struct {
	runID string
	key   string    // the idempotency key of its calls; "": each has its own
	slots int       // calls that may be in flight at once
	busy  *inFlight // calls in flight of all runs
	times *timing.Times

	mu       countedMutex
	closed   bool // the run has ended: no call starts
	pending  map[uint64]*entry
	lastID   uint64   // of the newest request
	queue    []*entry // waiting for a slot
	inFlight int      // calls that have a slot
	inbox    []*entry // settled, in the order of settling, not yet delivered

	unwritten int      // settled calls whose answers are on the way to the store
	changes   uint64   // counts changes of calls
	written   uint64   // the changes that the store knows
	imaged    []*entry // calls that the stored image waits for

	clientCalls   map[uint64]*clientCall
	answered      []uint64  // calls that the client has answered
	onClient      int       // calls in flight that the client is to answer
	onApproval    int       // calls in flight that wait for a person
	approvalSince time.Time // when onApproval last rose from 0
	tellBy        time.Time // when the caller is to hear of calls that wait for an answer; zero: it has
	questions     []time.Time

	dispatched int // tools that may have taken effect
	changing   int // those of them that are not read-only, and have not said that they had no effect
	counters   runstore.Counters
	account    account
}

// entry is one bridge call in the table, between its request and its delivery. The mu of
// the table guards it.
type entry struct {
	runstore.Call
	changed  uint64 // callTable.changes when the call last changed
	charged  int64  // bytes
	imaged   bool   // the newest image waits for it
	cancel   context.CancelCauseFunc
	asking   bool // it is one of the session's questions to people
	repeated bool // an earlier host may have made it
	changing bool // it counts in callTable.changing
}

// newCallTable returns an empty table.
func newCallTable(runID string, slots int, busy *inFlight, times *timing.Times, a account) *callTable {
	return &callTable{runID: runID, slots: slots, busy: busy, times: times, pending: make(map[uint64]*entry), account: a}
}

// useKey has every call of the run use one idempotency key. It comes before the first call.
func (t *callTable) useKey(key string) { t.key = key }

// publicID names a call in results and events.
func publicID(c *runstore.Call) string {
	return "bridge:" + c.Method + ":" + strconv.FormatUint(c.ID, 10)
}

// publicID names the call in results and events.
func (c *entry) publicID() string { return publicID(&c.Call) }

// isTool reports whether the call runs a tool.
func (c *entry) isTool() bool {
	switch wire.Method(c.Method) {
	case wire.MethodCall, wire.MethodNamespace, wire.MethodMCP, wire.MethodProgram, wire.MethodSave:
		return true
	}
	return false
}

// begin returns the context under which a call is performed. It ends with parent,
// when the guest cancels the call, or with done.
func (t *callTable) begin(parent context.Context, c *entry) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(parent)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.GivenUp {
		cancel(errCallCancelled)
	}
	c.cancel = cancel
	return ctx, func() { cancel(nil) }
}

// start adds calls to the queue and returns those that have got a slot.
func (t *callTable) start(calls []*entry) (started []*entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.enqueue(calls)
}

// enqueue adds calls to the queue and returns the calls that have got a slot. The
// caller holds mu.
func (t *callTable) enqueue(calls []*entry) (started []*entry) {
	t.queue = append(t.queue, calls...)
	return t.fillSlots()
}

// fillSlots gives free slots to queued calls and returns them. The caller launches
// them once the store knows that they are in flight. While more answers wait than a
// turn carries, no call starts: a program has to take its answers first. The caller
// holds mu.
func (t *callTable) fillSlots() (started []*entry) {
	for len(t.queue) > 0 && t.inFlight < t.slots && !t.closed && t.inboxBytes() <= maxTurnBytes {
		c := t.queue[0]
		t.queue = slices.Delete(t.queue, 0, 1)
		if c.State != runstore.CallApproval {
			c.State = runstore.CallInFlight
		}
		t.touch(c)
		t.inFlight++
		t.busy.enter()
		started = append(started, c)
	}
	return started
}

// resolved notes which tool a call means.
func (t *callTable) resolved(c *entry, toolID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Tool = toolID
}

// toolOf returns the id of the tool that a call means, as far as it is known.
func (t *callTable) toolOf(c *entry) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.Tool
}

// markDispatched notes that the tool of a call may take effect from now on. It reports
// whether that is new.
func (t *callTable) markDispatched(c *entry, changing bool) (first bool) {
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

// unmarkDispatched undoes markDispatched: the tool has said that it took no effect.
func (t *callTable) unmarkDispatched(c *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Dispatched = false
	t.dispatched--
	t.unmarkChanging(c)
}

// unmarkChanging notes that a call has had no effect. The caller holds mu.
func (t *callTable) unmarkChanging(c *entry) {
	if c.changing {
		c.changing = false
		t.changing--
	}
}

// isUnchanged reports whether no tool that was called can have changed anything.
func (t *callTable) isUnchanged() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.dispatched > 0 && t.changing == 0
}

// settle enters the outcome of a call that has a slot, and frees the slot. It returns
// the calls that have got slots. If the store waits for the answer or for one of these
// calls, toStore is true: then deliver must follow once the store has both.
func (t *callTable) settle(c *entry, tool *catalog.Tool, value json.RawMessage, err *fault.Rejection) (started []*entry, toStore bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setAnswer(c, tool, value, err)
	if err != nil && err.EffectStatus == fault.EffectNone {
		t.unmarkChanging(c)
	}
	c.cancel = nil
	t.inFlight--
	started = t.fillSlots()
	if c.imaged || slices.ContainsFunc(started, func(s *entry) bool { return s.imaged }) {
		t.unwritten++
		return started, true
	}
	t.toInbox(c)
	return started, false
}

// deliver puts a settled call into the inbox once the store has its answer.
func (t *callTable) deliver(c *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwritten--
	t.toInbox(c)
}

func (t *callTable) toInbox(c *entry) {
	t.inbox = append(t.inbox, c)
	if a := t.clientCalls[c.ID]; a != nil {
		delete(t.clientCalls, c.ID)
		close(a.settled)
	}
}

// settleQuery enters the answer to a query and puts it into the inbox.
func (t *callTable) settleQuery(c *entry, value json.RawMessage, err *fault.Rejection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setAnswer(c, nil, value, err)
	t.inbox = append(t.inbox, c)
}

// settleYields answers every pending yield: the model came back.
func (t *callTable) settleYields() {
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
func (t *callTable) setAnswer(c *entry, tool *catalog.Tool, value json.RawMessage, err *fault.Rejection) {
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

// maxTurnBytes bounds the answers of one turn. What is beyond waits for the next
// turn. A single answer is never larger.
const maxTurnBytes = 16 << 20

// inboxBytes is the size of the answers that wait. The caller holds mu.
func (t *callTable) inboxBytes() (n int) {
	for _, c := range t.inbox {
		n += len(c.Answer)
	}
	return n
}

// waitingBytes is inboxBytes for callers that do not hold mu.
func (t *callTable) waitingBytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inboxBytes()
}

// drainInbox takes answers out of the inbox in the order of their settling, as many as
// one turn may carry, and reports whether more are left. It returns the calls that have
// got slots since there is room.
func (t *callTable) drainInbox() (out []wire.Settlement, started []*entry, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := 0
	for len(t.inbox) > 0 {
		c := t.inbox[0]
		size += len(c.Answer)
		if len(out) > 0 && size > maxTurnBytes {
			break
		}
		answer := c.Answer
		if c.isTool() {
			answer = textForIntegers(answer)
		}
		out = append(out, wire.Settlement{ID: c.ID, OK: c.OK, JSON: answer})
		t.inbox = slices.Delete(t.inbox, 0, 1)
		t.remove(c)
	}
	return out, t.fillSlots(), len(t.inbox) > 0
}

// sorted returns the pending calls in request order. The caller holds mu.
func (t *callTable) sorted() []*entry {
	out := make([]*entry, 0, len(t.pending))
	for _, c := range t.pending {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *entry) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// list returns copies of the pending calls.
func (t *callTable) list() (out []runstore.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.pending {
		out = append(out, c.Call)
	}
	return out
}

// describe lists the calls whose answers the guest still needs, and the reason to give
// for waiting. See describeCalls.
func (t *callTable) describe(room int64) ([]codemode.PendingCall, codemode.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sorted := t.sorted()
	calls := make([]*runstore.Call, len(sorted))
	for i, c := range sorted {
		calls[i] = &c.Call
	}
	return describeCalls(calls, room)
}

// idle reports whether no call is in flight or on the way to the store.
func (t *callTable) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inFlight == 0 && t.unwritten == 0
}

// remove removes a call from the table. Its bytes stay charged as long as the newest
// image waits for it. The caller holds mu.
func (t *callTable) remove(c *entry) {
	delete(t.pending, c.ID)
	if !c.imaged {
		t.account.force(-c.charged)
		c.charged = 0
	}
}

// reweigh charges a call as it is now. The caller holds mu.
func (t *callTable) reweigh(c *entry) {
	n := c.heldBytes()
	t.account.force(n - c.charged)
	c.charged = n
}

// touch notes that a call has changed. The caller holds mu.
func (t *callTable) touch(c *entry) {
	t.changes++
	c.changed = t.changes
}

// close ends the table: no call starts any more and no answer is journaled. It returns
// the calls that wait for approval.
func (t *callTable) close() (onApproval []runstore.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.account.close()
	t.queue = nil
	for _, c := range t.pending {
		if awaitedApproval(&c.Call) != "" {
			onApproval = append(onApproval, c.Call)
		}
	}
	return onApproval
}

// hold adds the call that stands for the program itself, about which a person is asked.
func (t *callTable) hold(c *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending[0] = c
}

// release removes a call that was to be held, because there is nothing to ask.
func (t *callTable) release(c *entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.remove(c)
}

// heldProgram returns the call that stands for the held program, or nil.
func (t *callTable) heldProgram() *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.pending[0]; c != nil && c.Method == methodExec {
		return c
	}
	return nil
}

// takeHeld removes the call that stands for the held program, which has settled.
func (t *callTable) takeHeld() *entry {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.pending[0]
	t.remove(c)
	t.inbox = slices.DeleteFunc(t.inbox, func(i *entry) bool { return i == c })
	return c
}

// maxTurnCPU is more processor time than any turn takes. A worker that reports more
// lies, and its run has used up its budget.
const maxTurnCPU = 2 * time.Hour

// describeCalls describes pending calls. The reason is yield only if every call is a
// yield, and approval if a person has to decide about a call, unless the client has to
// answer another call. Inputs that the client is to answer share room bytes; of an
// input beyond that, only the size is given.
func describeCalls(calls []*runstore.Call, room int64) ([]codemode.PendingCall, codemode.Reason) {
	reason, client, approval := codemode.ReasonYield, false, false
	out := []codemode.PendingCall{}
	for _, c := range calls {
		p := codemode.PendingCall{ID: publicID(c), Method: c.Method, Tool: c.Tool}
		switch {
		case c.State == runstore.CallAsked:
			client = true
			if size := int64(len(c.Input)); size <= room {
				p.Input, room = c.Input, room-size
			} else {
				p.InputBytes = size
			}
		case awaitedApproval(c) != "":
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

// methodExec is the method of the call that stands for the program itself while a
// person decides whether it may start. No call of a guest has its id, 0.
const methodExec = "exec"
