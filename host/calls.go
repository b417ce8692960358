package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
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

// callTable holds the bridge calls of one run from the request to the delivery of the
// answer: which calls wait for a slot, which are in flight, and which answers wait for
// the guest. It also holds what those calls cost: counters and charged bytes.
//
// A callTable does not know about workers, stores or tools. Its methods are safe for
// concurrent use.
type callTable struct {
	runID string
	slots int       // calls that may be in flight at once
	busy  *inFlight // calls in flight of all runs

	mu       countedMutex
	closed   bool // the run has ended: no call starts
	pending  map[uint64]*call
	lastID   uint64  // of the newest request
	queue    []*call // waiting for a slot
	inFlight int     // calls that have a slot
	inbox    []*call // settled, in the order of settling, not yet delivered

	unwritten int     // settled calls whose answers are on the way to the store
	changes   uint64  // counts changes of calls
	written   uint64  // the changes that the store knows
	imaged    []*call // calls that the stored image waits for

	clientCalls   map[uint64]*clientCall
	answered      []uint64  // calls that the client has answered
	onClient      int       // calls in flight that the client is to answer
	onApproval    int       // calls in flight that wait for a person
	approvalSince time.Time // when onApproval last rose from 0
	questions     []time.Time

	dispatched bool // a tool may have been called
	counters   runstore.Counters
	account    account
}

// locked runs a step with mu held. A panic in the step releases mu too.
func (t *callTable) locked(step func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	step()
}

// burst is what a guest has asked for in one turn.
type burst struct {
	fresh   []*call // calls of tools, not started
	started []*call // calls of tools that have got a slot
	queries []*call // of the catalog
	yielded bool
}

// admit adds the requests of one turn. If start says so, calls of tools start at once,
// unless the catalog has to answer first or the program yields. It refuses a burst that
// is larger than the queue before any request counts.
func (t *callTable) admit(reqs []wire.Request, start bool) (b burst, _ *failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.checkRequests(reqs); f != nil {
		return b, f
	}
	if d := t.account.charge(requestBytes(reqs)); d != nil {
		return b, heldTooMuch(d)
	}
	for _, q := range reqs {
		if q.Method == wire.MethodCancel {
			ids, _ := cancelledIDs(q) // checkRequests has read them
			t.cancelCalls(ids)
			t.account.force(-requestBytes([]wire.Request{q}))
			continue
		}
		c := t.add(q)
		switch q.Method {
		case wire.MethodYield:
			b.yielded = true
		case wire.MethodCall, wire.MethodNamespace, wire.MethodMCP:
			b.fresh = append(b.fresh, c)
		default:
			b.queries = append(b.queries, c)
		}
	}
	if start && !b.yielded && len(b.queries) == 0 {
		b.started, b.fresh = t.enqueue(b.fresh), nil
	}
	return b, nil
}

// checkRequests checks a whole burst before any request counts. The worker is not
// trusted to number its requests.
func (t *callTable) checkRequests(reqs []wire.Request) *failure {
	last, tools := t.lastID, 0
	for _, q := range reqs {
		if q.ID <= last {
			return failf(CodeUnavailable, ReasonWorkerCrashed, PhaseHost, "guest worker repeated the bridge call %d", q.ID)
		}
		last = q.ID
		if len(q.Args) > 0 && !json.Valid(q.Args) {
			return failf(CodeUnavailable, ReasonWorkerCrashed, PhaseHost, "guest worker sent arguments that are not JSON")
		}
		switch q.Method {
		case wire.MethodCall, wire.MethodNamespace, wire.MethodMCP:
			tools++
		case wire.MethodSearch, wire.MethodDescribe, wire.MethodYield:
		case wire.MethodCancel:
			if _, err := cancelledIDs(q); err != nil {
				return failf(CodeUnavailable, ReasonWorkerCrashed, PhaseHost, "guest worker cancelled something that is no list of calls")
			}
		default:
			return failf(CodeUnavailable, ReasonWorkerCrashed, PhaseHost, "guest worker made a bridge call of the unknown method %q", text.Cut(string(q.Method), 64))
		}
	}
	limit := t.slots + codemode.MaxQueuedCalls
	if n := t.inFlight + len(t.queue) + tools; tools > 0 && n > limit {
		return failf(CodeInvalidInput, ReasonTooManyPending, PhaseBridge,
			"too many pending tool calls: %d at once, at most %d run and %d queue. None of the last %d was started; await them in smaller batches.",
			n, t.slots, codemode.MaxQueuedCalls, tools)
	}
	t.lastID = last
	return nil
}

// add adds a new call, whose bytes are charged. The caller holds mu.
func (t *callTable) add(q wire.Request) *call {
	c := &call{Call: runstore.Call{
		ID:             q.ID,
		Method:         string(q.Method),
		Target:         q.Target,
		Path:           q.Path,
		Args:           bytes.Clone(q.Args), // a part of the report would keep the whole report
		IdempotencyKey: t.runID + ":" + strconv.FormatUint(q.ID, 10),
		State:          runstore.CallQueued,
	}}
	t.pending[c.ID] = c
	c.charged = c.heldBytes()
	switch q.Method {
	case wire.MethodSearch:
		t.counters.Search++
	case wire.MethodDescribe:
		t.counters.Describe++
	case wire.MethodCall:
		t.counters.Call++
	case wire.MethodNamespace, wire.MethodMCP:
		t.counters.Namespace++
	}
	return c
}

// errCallCancelled is the cause with which the context of a call ends that the program
// has cancelled with an AbortSignal.
var errCallCancelled = errors.New("the program gave the call up")

// cancelledIDs reads the ids of the calls that a cancel request names.
func cancelledIDs(q wire.Request) (ids []uint64, err error) {
	err = json.Unmarshal(q.Args, &ids)
	return ids, err
}

// cancelCalls ends the contexts of calls that are not settled. The promises of the
// guest have rejected; the calls stay pending until their tools have returned. The
// journal gets the cancellation too: the next host must not make a call that was
// cancelled in the queue. The caller holds mu.
func (t *callTable) cancelCalls(ids []uint64) {
	for _, id := range ids {
		c := t.pending[id]
		if c == nil || c.GivenUp || c.State == runstore.CallSettled {
			continue
		}
		c.GivenUp = true
		t.touch(c)
		if c.cancel != nil {
			c.cancel(errCallCancelled)
		}
	}
}

// begin returns the context under which a call is performed. It ends with parent,
// when the guest cancels the call, or with done.
func (t *callTable) begin(parent context.Context, c *call) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(parent)
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.GivenUp {
		cancel(errCallCancelled)
	}
	c.cancel = cancel
	return ctx, func() { cancel(nil) }
}

// enqueue adds calls to the queue and returns the calls that have got a slot. The
// caller holds mu.
func (t *callTable) enqueue(calls []*call) (started []*call) {
	t.queue = append(t.queue, calls...)
	return t.fillSlots()
}

// fillSlots gives free slots to queued calls and returns them. The caller launches
// them once the store knows that they are in flight. While more answers wait than a
// turn carries, no call starts: a program has to take its answers first. The caller
// holds mu.
func (t *callTable) fillSlots() (started []*call) {
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
func (t *callTable) resolved(c *call, toolID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Tool = toolID
}

// toolOf returns the id of the tool that a call means, as far as it is known.
func (t *callTable) toolOf(c *call) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.Tool
}

// markDispatched notes that the tool of a call may take effect from now on.
func (t *callTable) markDispatched(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dispatched, c.Dispatched = true, true
}

// settle enters the outcome of a call that has a slot, and frees the slot. It returns
// the calls that have got slots. If the store waits for the answer or for one of these
// calls, toStore is true: then deliver must follow once the store has both.
func (t *callTable) settle(c *call, value json.RawMessage, err *callError) (started []*call, toStore bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setAnswer(c, value, err)
	c.cancel = nil
	t.inFlight--
	started = t.fillSlots()
	if c.imaged || slices.ContainsFunc(started, func(s *call) bool { return s.imaged }) {
		t.unwritten++
		return started, true
	}
	t.toInbox(c)
	return started, false
}

// deliver puts a settled call into the inbox once the store has its answer.
func (t *callTable) deliver(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unwritten--
	t.toInbox(c)
}

func (t *callTable) toInbox(c *call) {
	t.inbox = append(t.inbox, c)
	if a := t.clientCalls[c.ID]; a != nil {
		delete(t.clientCalls, c.ID)
		close(a.settled)
	}
}

// settleQuery enters the answer to a query and puts it into the inbox.
func (t *callTable) settleQuery(c *call, value json.RawMessage, err *callError) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setAnswer(c, value, err)
	t.inbox = append(t.inbox, c)
}

// settleYields answers every pending yield: the model came back.
func (t *callTable) settleYields() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.sorted() {
		if c.Method == string(wire.MethodYield) && c.State != runstore.CallSettled {
			t.setAnswer(c, json.RawMessage("null"), nil)
			t.inbox = append(t.inbox, c)
		}
	}
}

// setAnswer enters the outcome of a call. The caller holds mu.
func (t *callTable) setAnswer(c *call, value json.RawMessage, err *callError) {
	t.touch(c)
	if d := t.account.charge(int64(len(value))); d != nil {
		value, err = nil, c.answerTooMuch(d)
	}
	c.charged += int64(len(value))
	c.State = runstore.CallSettled
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
// one turn may carry. It returns the calls that have got slots since there is room.
func (t *callTable) drainInbox() (out []wire.Settlement, started []*call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := 0
	for len(t.inbox) > 0 {
		c := t.inbox[0]
		size += len(c.Answer)
		if len(out) > 0 && size > maxTurnBytes {
			break
		}
		out = append(out, wire.Settlement{ID: c.ID, OK: c.OK, JSON: c.Answer})
		t.inbox = slices.Delete(t.inbox, 0, 1)
		t.remove(c)
	}
	return out, t.fillSlots()
}

// sorted returns the pending calls in request order. The caller holds mu.
func (t *callTable) sorted() []*call {
	out := make([]*call, 0, len(t.pending))
	for _, c := range t.pending {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *call) int { return cmp.Compare(a.ID, b.ID) })
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
func (t *callTable) describe(room int64) ([]PendingCall, Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return describeCalls(t.sorted(), room)
}

// callStatus is what a driver has to know of the calls to decide whether it waits.
type callStatus struct {
	pending         bool // there are calls
	deliverable     bool // an answer waits for the guest
	blockedOnClient bool // nothing happens until the client answers a call
	onApproval      bool // a person has to decide about a call
}

// status returns the callStatus of this moment.
func (t *callTable) status() callStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	return callStatus{
		pending:     len(t.pending) > 0,
		deliverable: len(t.inbox) > 0,
		// Every call in flight waits for the client or a person, so queued calls do not start.
		blockedOnClient: t.onClient > 0 && t.unwritten == 0 && len(t.inbox) == 0 && t.onClient+t.onApproval == t.inFlight,
		onApproval:      t.onApproval > 0,
	}
}

// idle reports whether no call is in flight or on the way to the store.
func (t *callTable) idle() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inFlight == 0 && t.unwritten == 0
}

// remove removes a call from the table. Its bytes stay charged as long as the newest
// image waits for it. The caller holds mu.
func (t *callTable) remove(c *call) {
	delete(t.pending, c.ID)
	if !c.imaged {
		t.account.force(-c.charged)
		c.charged = 0
	}
}

// reweigh charges a call as it is now. The caller holds mu.
func (t *callTable) reweigh(c *call) {
	n := c.heldBytes()
	t.account.force(n - c.charged)
	c.charged = n
}

// touch notes that a call has changed. The caller holds mu.
func (t *callTable) touch(c *call) {
	t.changes++
	c.changed = t.changes
}

// takeImage makes the pending calls the calls that the newest image waits for, and
// returns them as a record holds them. The caller holds mu.
func (t *callTable) takeImage(identify func(*call)) []runstore.Call {
	t.setImaged(t.sorted())
	t.written = t.changes
	out := make([]runstore.Call, 0, len(t.imaged))
	for _, c := range t.imaged {
		identify(c)
		out = append(out, c.Call)
	}
	return out
}

func (t *callTable) setImaged(calls []*call) {
	for _, c := range t.imaged {
		c.imaged = false
		if t.pending[c.ID] != c {
			t.account.force(-c.charged)
			c.charged = 0
		}
	}
	for _, c := range calls {
		c.imaged = true
	}
	t.imaged = calls
}

// news returns the calls of the newest image that have changed since the store was
// told, and the count of changes to give to wrote.
func (t *callTable) news() (calls []runstore.Call, upTo uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.imaged {
		if !t.closed && c.changed > t.written {
			calls = append(calls, c.Call)
		}
	}
	return calls, t.changes
}

// wrote notes that the store has the changes up to that count.
func (t *callTable) wrote(upTo uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written = upTo
}

// answerBytes is the size of all answers that the guest has not got.
func (t *callTable) answerBytes() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.pending {
		n += len(c.Answer)
	}
	return n
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
		if c.State == runstore.CallApproval {
			onApproval = append(onApproval, c.Call)
		}
	}
	return onApproval
}

// lap adds the time since start to the counters and returns the counters. The caller
// holds mu.
func (t *callTable) lap(start, now time.Time) runstore.Counters {
	t.counters.WallMicros += now.Sub(start).Microseconds()
	t.counters.ApprovalMicros = t.approvalWait(now).Microseconds()
	if t.onApproval > 0 {
		t.approvalSince = now
	}
	return t.counters
}

// countedAt returns the counters as they would be after lap, and whether a tool may
// have been called.
func (t *callTable) countedAt(start, now time.Time) (c runstore.Counters, dispatched bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c = t.counters
	c.WallMicros += now.Sub(start).Microseconds()
	c.ApprovalMicros = t.approvalWait(now).Microseconds()
	return c, t.dispatched
}

// describeCalls describes pending calls. The reason is yield only if every call is a
// yield, and approval if a person has to decide about a call, unless the client has to
// answer another call. Inputs that the client is to answer share room bytes; of an
// input beyond that, only the size is given.
func describeCalls(calls []*call, room int64) ([]PendingCall, Reason) {
	reason, client, approval := ReasonYield, false, false
	out := []PendingCall{}
	for _, c := range calls {
		p := PendingCall{ID: c.publicID(), Method: c.Method, Tool: c.Tool}
		switch c.State {
		case runstore.CallAsked:
			client = true
			if size := int64(len(c.Input)); size <= room {
				p.Input, room = c.Input, room-size
			} else {
				p.InputBytes = size
			}
		case runstore.CallApproval:
			approval = true
		}
		if c.Method == string(wire.MethodCall) && p.Tool == "" {
			p.Tool = c.Target
		}
		if c.Method != string(wire.MethodYield) {
			reason = ReasonPendingTools
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		reason = ReasonTimer
	}
	if approval && !client {
		reason = ReasonApproval
	}
	return out, reason
}
