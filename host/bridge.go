package host

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/quoinhq/quoin/guestrt/wire"
	"github.com/quoinhq/quoin/host/runstore"
)

// admit takes the requests of one turn: it answers what it can, starts or queues
// tool calls, and reports whether the guest has yielded. A burst beyond the queue
// is refused before any of it is dispatched.
func (r *run) admit(reqs []wire.Request) (yielded bool, _ *failure) {
	var told []func()
	defer func() { // when mu is free again
		for _, tell := range told {
			tell()
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.checkRequests(reqs); f != nil {
		return false, f
	}
	for _, q := range reqs {
		c := r.record(q)
		switch q.Method {
		case wire.MethodYield:
			yielded = true
		case wire.MethodCall, wire.MethodNamespace:
			r.queue = append(r.queue, c)
		default:
			start := time.Now()
			value, err := r.answer(c)
			r.settleLocked(c, value, err)
			told = append(told, func() { r.tellQueried(c, start, value, err) })
		}
	}
	r.pump()
	return yielded, nil
}

// checkRequests looks at a whole burst before any of it counts. The worker is
// not trusted to number its requests.
func (r *run) checkRequests(reqs []wire.Request) *failure {
	last, tools := r.lastID, 0
	for _, q := range reqs {
		if q.ID <= last {
			return failf(CodeInternal, ReasonWorkerCrashed, PhaseHost, "guest worker repeated the bridge call %d", q.ID)
		}
		last = q.ID
		if len(q.Args) > 0 && !json.Valid(q.Args) {
			return failf(CodeInternal, ReasonWorkerCrashed, PhaseHost, "guest worker sent arguments that are not JSON")
		}
		switch q.Method {
		case wire.MethodCall, wire.MethodNamespace:
			tools++
		case wire.MethodSearch, wire.MethodDescribe, wire.MethodYield:
		default:
			return failf(CodeInternal, ReasonWorkerCrashed, PhaseHost, "guest worker made a bridge call of the unknown method %q", safePrefix(string(q.Method), 64))
		}
	}
	limit := int(r.h.settings.MaxPendingCalls) + queuedCalls
	if n := r.inFlight + len(r.queue) + tools; tools > 0 && n > limit {
		return failf(CodeInvalidInput, ReasonTooManyPending, PhaseBridge,
			"too many pending tool calls: %d at once, at most %d run and %d queue. None of the last %d was started; await them in smaller batches.",
			n, r.h.settings.MaxPendingCalls, queuedCalls, tools)
	}
	r.lastID = last
	return nil
}

// record notes a new call. The caller holds mu.
func (r *run) record(q wire.Request) *call {
	c := &call{runstore.Call{
		ID:             q.ID,
		Method:         string(q.Method),
		Target:         q.Target,
		Path:           q.Path,
		Args:           q.Args,
		IdempotencyKey: r.id + ":" + strconv.FormatUint(q.ID, 10),
		State:          runstore.CallQueued,
	}}
	r.calls[c.ID] = c
	switch q.Method {
	case wire.MethodSearch:
		r.counters.Search++
	case wire.MethodDescribe:
		r.counters.Describe++
	case wire.MethodCall:
		r.counters.Call++
	case wire.MethodNamespace:
		r.counters.Namespace++
	}
	return c
}

// pump starts queued calls while slots are free. The caller holds mu.
func (r *run) pump() {
	for len(r.queue) > 0 && r.inFlight < int(r.h.settings.MaxPendingCalls) && !r.ended {
		c := r.queue[0]
		r.queue = slices.Delete(r.queue, 0, 1)
		c.State = runstore.CallInFlight
		r.inFlight++
		r.h.calls.enter()
		go r.launch(c)
	}
}

// launch performs a call once the store knows that it is in flight: a parked run
// that is found after a crash must not take the call for one never made.
func (r *run) launch(c *call) {
	if err := r.beforeDispatch(); err != nil {
		e := rejectf(codeInterrupted, "The call was not made: its run could not be recorded (%v).", err)
		r.settle(c, nil, e)
		r.h.calls.leave()
		return
	}
	r.perform(c)
}

// settle records the outcome of a tool call, frees its slot and wakes the driver.
func (r *run) settle(c *call, value json.RawMessage, err *callError) {
	r.mu.Lock()
	r.settleLocked(c, value, err)
	r.inFlight--
	r.pump()
	stored := !r.live && !r.ended
	r.mu.Unlock()
	if stored {
		r.journal()
		r.dropIdleClaim()
	}
	r.answeredCall(c)
	r.notify()
}

func (r *run) settleLocked(c *call, value json.RawMessage, err *callError) {
	c.State = runstore.CallSettled
	c.OK, c.Answer = err == nil, value
	if err != nil {
		b, merr := json.Marshal(err.CallError)
		if merr != nil {
			b = []byte(`{"message":"the call failed"}`)
		}
		c.Answer = b
	}
	r.inbox = append(r.inbox, c)
}

// maxTurnBytes bounds the answers of one turn. What is beyond waits for the next;
// a single answer is never larger.
const maxTurnBytes = 16 << 20

// take moves answers from the inbox into settlements for the guest, in the order
// of their settling and as many as one turn may carry.
func (r *run) take() []wire.Settlement {
	r.mu.Lock()
	defer r.mu.Unlock()
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
		delete(r.calls, c.ID)
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
		}
	}
}

// sortedCalls returns the pending calls in request order. The caller holds mu.
func (r *run) sortedCalls() []*call {
	out := make([]*call, 0, len(r.calls))
	for _, c := range r.calls {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *call) int { return int(a.ID) - int(b.ID) })
	return out
}

// pending lists the calls whose answers the guest still needs, and the reason to
// give for waiting: yield only if every one is a yield.
func (r *run) pending() ([]PendingCall, Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := ReasonYield
	var out []PendingCall
	for _, c := range r.sortedCalls() {
		p := PendingCall{ID: c.publicID(), Method: c.Method, Tool: c.Tool}
		if c.State == runstore.CallAsked {
			p.Input = c.Input
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
		reason = ReasonPendingTools // a timer
	}
	return out, reason
}
