package calls

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// Burst is what a guest has asked for in one turn.
type Burst struct {
	Fresh   []*Entry // calls of tools, not started
	Started []*Entry // calls of tools that have got a slot
	Queries []*Entry // of the catalog
	Yielded bool
}

// Admit adds the requests of one turn. If start says so, calls of tools start at once,
// unless the catalog has to answer first or the program yields. It refuses a burst that
// is larger than the queue before any request counts.
func (t *Table) Admit(reqs []wire.Request, start bool) (b Burst, _ *codemode.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.checkRequests(reqs); f != nil {
		return b, f
	}
	if d := t.account.charge(requestBytes(reqs)); d != nil {
		return b, HeldTooMuch(d)
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
			b.Yielded = true
		case wire.MethodCall, wire.MethodNamespace, wire.MethodMCP, wire.MethodProgram, wire.MethodSave:
			b.Fresh = append(b.Fresh, c)
		default:
			b.Queries = append(b.Queries, c)
		}
	}
	if start && !b.Yielded && len(b.Queries) == 0 {
		b.Started, b.Fresh = t.enqueue(b.Fresh), nil
	}
	return b, nil
}

// checkRequests checks a whole burst before any request counts. The worker is not
// trusted to number its requests.
func (t *Table) checkRequests(reqs []wire.Request) *codemode.Error {
	last, tools := t.lastID, 0
	for _, q := range reqs {
		if q.ID <= last {
			return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost, "guest worker repeated the bridge call %d", q.ID)
		}
		last = q.ID
		if len(q.Args) > 0 && !json.Valid(q.Args) {
			return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost, "guest worker sent arguments that are not JSON")
		}
		switch q.Method {
		case wire.MethodCall, wire.MethodNamespace, wire.MethodMCP, wire.MethodProgram, wire.MethodSave:
			tools++
		case wire.MethodSearch, wire.MethodDescribe, wire.MethodYield:
		case wire.MethodCancel:
			if _, err := cancelledIDs(q); err != nil {
				return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost, "guest worker cancelled something that is no list of calls")
			}
		default:
			return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonWorkerCrashed, codemode.PhaseHost, "guest worker made a bridge call of the unknown method %q", text.Cut(string(q.Method), 64))
		}
	}
	limit := t.slots + codemode.MaxQueuedCalls
	if n := t.inFlight + len(t.queue) + tools; tools > 0 && n > limit {
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonTooManyPending, codemode.PhaseBridge,
			"too many pending tool calls: %d or more at once, at most %d run and %d queue. None of those since the last await was started; await them in smaller batches.",
			n, t.slots, codemode.MaxQueuedCalls)
	}
	t.lastID = last
	return nil
}

// add adds a new call. Its bytes are charged. The caller holds mu.
func (t *Table) add(q wire.Request) *Entry {
	c := &Entry{Call: runstore.Call{
		ID:             q.ID,
		Method:         string(q.Method),
		Target:         q.Target,
		Path:           q.Path,
		Args:           bytes.Clone(q.Args), // a part of the report would keep the whole report
		IdempotencyKey: t.idempotencyKey(q.ID),
		State:          runstore.CallQueued,
	}}
	t.byID[c.ID] = c
	c.charged = c.heldBytes()
	n := &t.Costs.counters
	switch q.Method {
	case wire.MethodSearch:
		n.Search++
	case wire.MethodDescribe:
		n.Describe++
	case wire.MethodCall, wire.MethodProgram, wire.MethodSave:
		n.Call++
	case wire.MethodNamespace, wire.MethodMCP:
		n.Namespace++
	}
	return c
}

// ErrCancelled is the cause with which the context of a call ends that the program
// has cancelled with an AbortSignal.
var ErrCancelled = errors.New("the program gave the call up")

// cancelledIDs reads the ids of the calls that a cancel request names.
func cancelledIDs(q wire.Request) (ids []uint64, err error) {
	err = json.Unmarshal(q.Args, &ids)
	return ids, err
}
