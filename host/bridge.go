package host

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// admit takes the requests of one turn: it answers what the catalog can answer,
// and returns the tool calls, none of which has started. A burst beyond the queue
// is refused before any of it counts.
func (r *run) admit(ctx context.Context, reqs []wire.Request) (fresh []*call, yielded bool, _ *failure) {
	fresh, queries, yielded, f := r.sort(reqs)
	if f == nil {
		r.answerAll(ctx, queries)
	}
	return fresh, yielded, f
}

// sort notes the requests of one turn as calls of tools, and of the catalog.
func (r *run) sort(reqs []wire.Request) (fresh, queries []*call, yielded bool, _ *failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.checkRequests(reqs); f != nil {
		return nil, nil, false, f
	}
	if d := r.charge(requestBytes(reqs)); d != nil {
		return nil, nil, false, heldTooMuch(d)
	}
	for _, q := range reqs {
		if q.Method == wire.MethodCancel {
			ids, _ := givenUpIDs(q) // checkRequests has read them
			r.giveUp(ids)
			r.chargeAnyway(-requestBytes([]wire.Request{q}))
			continue
		}
		c := r.record(q)
		switch q.Method {
		case wire.MethodYield:
			yielded = true
		case wire.MethodCall, wire.MethodNamespace, wire.MethodMCP:
			fresh = append(fresh, c)
		default:
			queries = append(queries, c)
		}
	}
	return fresh, queries, yielded, nil
}

// checkRequests looks at a whole burst before any of it counts. The worker is
// not trusted to number its requests.
func (r *run) checkRequests(reqs []wire.Request) *failure {
	last, tools := r.lastID, 0
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
			if _, err := givenUpIDs(q); err != nil {
				return failf(CodeUnavailable, ReasonWorkerCrashed, PhaseHost, "guest worker cancelled something that is no list of calls")
			}
		default:
			return failf(CodeUnavailable, ReasonWorkerCrashed, PhaseHost, "guest worker made a bridge call of the unknown method %q", text.Cut(string(q.Method), 64))
		}
	}
	limit := int(r.settings.MaxPendingCalls) + queuedCalls
	if n := r.inFlight + len(r.queue) + tools; tools > 0 && n > limit {
		return failf(CodeInvalidInput, ReasonTooManyPending, PhaseBridge,
			"too many pending tool calls: %d at once, at most %d run and %d queue. None of the last %d was started; await them in smaller batches.",
			n, r.settings.MaxPendingCalls, queuedCalls, tools)
	}
	r.lastID = last
	return nil
}

// record notes a new call. The caller holds mu.
func (r *run) record(q wire.Request) *call {
	c := &call{Call: runstore.Call{
		ID:             q.ID,
		Method:         string(q.Method),
		Target:         q.Target,
		Path:           q.Path,
		Args:           bytes.Clone(q.Args), // else it keeps the whole report
		IdempotencyKey: r.id + ":" + strconv.FormatUint(q.ID, 10),
		State:          runstore.CallQueued,
	}}
	r.calls[c.ID] = c
	c.charged = c.heldBytes() // of what sort has charged
	switch q.Method {
	case wire.MethodSearch:
		r.counters.Search++
	case wire.MethodDescribe:
		r.counters.Describe++
	case wire.MethodCall:
		r.counters.Call++
	case wire.MethodNamespace, wire.MethodMCP:
		r.counters.Namespace++
	}
	return c
}

// enqueue adds calls to the queue and returns those that have a free slot. The
// caller holds mu.
func (r *run) enqueue(calls []*call) []*call {
	r.queue = append(r.queue, calls...)
	return r.pump()
}

// pump gives free slots to queued calls and returns them. Whoever takes them
// launches them once the store knows that they are in flight. While more answers
// wait than a turn carries, none starts: a program that does not take its answers
// gets no more of them. The caller holds mu.
func (r *run) pump() (started []*call) {
	for len(r.queue) > 0 && r.inFlight < int(r.settings.MaxPendingCalls) && !r.ended && !r.inboxFull() {
		c := r.queue[0]
		r.queue = slices.Delete(r.queue, 0, 1)
		if c.State != runstore.CallApproval {
			c.State = runstore.CallInFlight
		}
		r.touch(c)
		r.inFlight++
		r.h.calls.enter()
		started = append(started, c)
	}
	return started
}

// launch performs calls that have a slot, unless the store could not be told of
// them: a run that is found after a crash must not take a call for one never made.
func (r *run) launch(started []*call, stored error) {
	for _, c := range started {
		if stored != nil {
			go r.notMade(c, stored)
			continue
		}
		r.h.crew.perform(task{r, c})
	}
}

// notMade rejects a call that has a slot and was not made.
func (r *run) notMade(c *call, why error) {
	defer r.h.calls.leave()
	defer r.containCall(c)
	r.settle(c, nil, rejectf(codeInterrupted, "The call was not made: its run could not be recorded (%s).", withoutPaths(why)))
}

// settle records the outcome of a tool call, frees its slot and wakes the driver.
// The guest gets the answer once the store has it.
func (r *run) settle(c *call, value json.RawMessage, err *callError) {
	var started []*call
	r.locked(func() {
		r.settleLocked(c, value, err)
		r.inFlight--
		r.unwritten++
		started = r.pump()
	})
	lost := r.journal()
	r.mu.Lock()
	r.inbox = append(r.inbox, c)
	r.unwritten--
	r.mu.Unlock()
	r.dropIdleClaim()
	r.answeredCall(c)
	r.notify()
	r.launch(started, lost)
}

func (r *run) settleLocked(c *call, value json.RawMessage, err *callError) {
	r.touch(c)
	if d := r.charge(int64(len(value))); d != nil {
		value, err = nil, r.answerTooMuch(c, d)
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
		r.reweigh(c)
	}
}

// maxTurnBytes bounds the answers of one turn. What is beyond waits for the next;
// a single answer is never larger.
const maxTurnBytes = 16 << 20

// inboxFull reports whether more answers wait than one turn carries. The caller
// holds mu.
func (r *run) inboxFull() bool {
	size := 0
	for _, c := range r.inbox {
		size += len(c.Answer)
	}
	return size > maxTurnBytes
}

// take moves answers from the inbox into settlements for the guest, and starts the
// calls that waited for the room.
func (r *run) take() (out []wire.Settlement) {
	var started []*call
	r.locked(func() { out, started = r.deliver(), r.pump() })
	if len(started) > 0 {
		r.launch(started, r.journal())
	}
	return out
}

// deliver takes answers out of the inbox in the order of their settling, as many
// as one turn may carry. The caller holds mu.
func (r *run) deliver() []wire.Settlement {
	var out []wire.Settlement
	size := 0
	for len(r.inbox) > 0 {
		c := r.inbox[0]
		size += len(c.Answer)
		if len(out) > 0 && size > maxTurnBytes {
			break
		}
		out = append(out, wire.Settlement{ID: c.ID, OK: c.OK, JSON: c.Answer})
		r.inbox = slices.Delete(r.inbox, 0, 1)
		r.drop(c)
	}
	return out
}

// settleYields answers every pending yield: the model came back.
func (r *run) settleYields() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.sortedCalls() {
		if c.Method == string(wire.MethodYield) && c.State != runstore.CallSettled {
			r.settleLocked(c, json.RawMessage("null"), nil)
			r.inbox = append(r.inbox, c)
		}
	}
}

// sortedCalls returns the pending calls in request order. The caller holds mu.
func (r *run) sortedCalls() []*call {
	out := make([]*call, 0, len(r.calls))
	for _, c := range r.calls {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *call) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// pending lists the calls whose answers the guest still needs, and the reason to
// give for waiting.
func (r *run) pending() ([]PendingCall, Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return pendingOf(r.sortedCalls(), r.settings.MaxOutput)
}

// pendingOf describes calls that are pending. The reason is yield only if every
// one is a yield, and approval if a person has to decide about one, unless the
// caller has to answer another. Inputs that the caller is to answer have room bytes
// together; of others there is the size alone.
func pendingOf(calls []*call, room int64) ([]PendingCall, Reason) {
	reason, asked, approval := ReasonYield, false, false
	out := []PendingCall{}
	for _, c := range calls {
		p := PendingCall{ID: c.publicID(), Method: c.Method, Tool: c.Tool}
		switch c.State {
		case runstore.CallAsked:
			asked = true
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
	if approval && !asked {
		reason = ReasonApproval
	}
	return out, reason
}
