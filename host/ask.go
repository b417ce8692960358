package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// ToolAnswer is a caller's answer to a call of one of its own tools.
type ToolAnswer struct {
	// Value is the result as JSON; empty means null.
	Value json.RawMessage
	// Error, if not empty, rejects the call in the guest with this message.
	Error string
}

// asking is a call that its run's caller is to answer.
type asking struct {
	answer  chan ToolAnswer // capacity 1
	settled chan struct{}   // closed once the answer is in the run, and in the store of a stored one
}

// methodOfAsked is the method of calls that a caller answers: namespaces reach
// only tools of plugins.
const methodOfAsked = string(wire.MethodCall)

// invoke runs a tool with a checked input. ctx is the run's, with the span of the
// call.
func (r *run) invoke(ctx context.Context, c *call, tool *catalog.Tool, inv catalog.Invocation) (json.RawMessage, error) {
	client := r.reach.client
	if client != nil && client.callbacks[tool.ID()] != nil {
		return client.callbacks[tool.ID()](ctx, inv)
	}
	if tool.Source != catalog.SourceClient {
		return tool.Invoke(ctx, inv)
	}
	if client.lost[tool.ID()] {
		return nil, lost(tool)
	}
	return r.ask(ctx, c, inv.Input)
}

// lost rejects a call of a tool whose callback is gone.
func lost(tool *catalog.Tool) *callError {
	e := rejectf(codeCatalogChanged, "Tool %s was answered by a callback of the process that started this run, which is gone.", tool.ID())
	e.ToolID = tool.ID()
	return e
}

// ask waits until the run's caller has answered a call. Meanwhile nothing of it
// goes on in this process, so a host that closes does not wait for it.
func (r *run) ask(ctx context.Context, c *call, input json.RawMessage) (json.RawMessage, error) {
	var (
		a *asking
		d *quota.Denied
	)
	r.locked(func() {
		if d = r.charge(int64(len(input))); d != nil {
			return
		}
		a = r.askingLocked(c.ID)
		c.State, c.Input = runstore.CallAsked, input
		c.charged += int64(len(input))
		r.asked++
		r.touch(c)
	})
	if d != nil {
		e := rejectf(codeQuota, "The call was not made: %v.", d)
		e.ToolID, e.EffectStatus = c.Tool, effectNone
		return nil, e
	}
	r.h.calls.rest()
	defer func() {
		r.h.calls.rise()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.asked--
	}()
	if err := r.journal(); err != nil {
		return nil, err
	}
	r.notify()
	select {
	case answer := <-a.answer:
		if answer.Error != "" {
			return nil, errors.New(answer.Error)
		}
		return answer.Value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// askingLocked returns the place where the answer of a call is put, which may be
// made before the call gets there. The caller holds mu.
func (r *run) askingLocked(id uint64) *asking {
	a := r.askings[id]
	if a == nil {
		a = &asking{answer: make(chan ToolAnswer, 1), settled: make(chan struct{})}
		if r.askings == nil {
			r.askings = make(map[uint64]*asking)
		}
		r.askings[id] = a
	}
	return a
}

// answeredCall tells who waits for it that a call has been settled.
func (r *run) answeredCall(c *call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.askings[c.ID]; a != nil {
		delete(r.askings, c.ID)
		close(a.settled)
	}
}

// callersTurn reports whether the run goes on only when its caller has answered:
// every call in flight is asked, or waits for a person, so that queued ones do not
// start either.
func (r *run) callersTurn() bool {
	if !r.timerDue.IsZero() && !time.Now().Before(r.timerDue) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked > 0 && r.unwritten == 0 && len(r.inbox) == 0 && r.asked+r.approving == r.inFlight
}

// Answer gives a run the result of a call of a tool that its caller brought
// without Invoke. Such calls are in PendingToolCalls of a waiting Result, with
// their inputs; Wait goes on with the run once one of them is answered. Only the
// session of the run may answer.
//
// The first answer to a call counts. Answering again changes nothing and is no
// error as long as the run exists. A run that survived its host can be answered
// in the next one. What is wrong with an answer is an *Error.
func (h *Host) Answer(ctx context.Context, s Session, runID, callID string, a ToolAnswer) error {
	if len(a.Value) == 0 {
		a.Value = json.RawMessage("null")
	}
	if a.Error == "" && (!json.Valid(a.Value) || !utf8.Valid(a.Value)) {
		return failf(CodeInvalidInput, "", PhaseInput, "the answer to %s is not JSON in UTF-8.", text.Cut(callID, 64)).public()
	}
	r, f := h.answerable(ctx, s, runID)
	if f != nil {
		return f.public()
	}
	settled, f := r.give(callID, a)
	if f != nil {
		return f.public()
	}
	select {
	case <-settled:
		return nil
	case <-r.ctx.Done():
		return failf(CodeAborted, "", PhaseHost, "code mode run has ended: %v", context.Cause(r.ctx)).public()
	case <-ctx.Done():
		return fmt.Errorf("the answer was taken but may not be stored yet: %w", context.Cause(ctx))
	}
}

// PendingInput returns the input of a call that the run's caller is to answer, such as
// one that a waiting Result has left out because it is large. Only the session of the
// run may ask. The error is an *Error.
func (h *Host) PendingInput(ctx context.Context, s Session, runID, callID string) (json.RawMessage, error) {
	calls, f := h.callsOf(ctx, s, runID)
	if f != nil {
		return nil, f.public()
	}
	for _, c := range calls {
		if c.State == runstore.CallAsked && (&call{Call: c}).publicID() == callID {
			return c.Input, nil
		}
	}
	return nil, failf(CodeInvalidInput, ReasonRunUnavailable, PhaseInput,
		"the run waits for no answer to %q. Ask for the input of a call in pendingToolCalls that has inputBytes.", text.Cut(callID, 64)).public()
}

// callsOf returns the calls of a run of the session that it waits for, from the store
// if it is not here.
func (h *Host) callsOf(ctx context.Context, s Session, id string) (calls []runstore.Call, _ *failure) {
	h.mu.Lock()
	r := h.runs[id]
	h.mu.Unlock()
	if r == nil {
		rec, err := h.recordFor(ctx, s, id)
		if err != nil {
			return nil, ofStore(err)
		}
		return rec.Calls, nil
	}
	if f := mayResume(r.session.stored(), s.stored()); f != nil {
		return nil, f
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.calls {
		calls = append(calls, c.Call)
	}
	return calls, nil
}

// answerable returns a run of the session, from the store if it is not here.
func (h *Host) answerable(ctx context.Context, s Session, id string) (*run, *failure) {
	h.answering.Lock() // of several answers to one stored run, one loads it
	defer h.answering.Unlock()
	h.mu.Lock()
	r, closed := h.runs[id], h.closed
	h.mu.Unlock()
	switch {
	case closed:
		return nil, failf(CodeUnavailable, "", PhaseHost, "code mode is shutting down.")
	case r != nil:
		return r, mayResume(r.session.stored(), s.stored())
	}
	r, rec, f := h.load(ctx, s, id, time.Now(), nil)
	if f != nil {
		return nil, f
	}
	r.mu.Lock()
	r.active = false
	r.expires, r.imageBytes = rec.Expires, len(rec.Image)
	r.expiry = time.AfterFunc(time.Until(rec.Expires), r.expire)
	r.mu.Unlock()
	return r, nil
}

// give hands an answer to its call and returns what is closed once it is taken.
func (r *run) give(callID string, answer ToolAnswer) (<-chan struct{}, *failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.answered {
		if (&call{Call: runstore.Call{ID: id, Method: methodOfAsked}}).publicID() != callID {
			continue
		}
		if a := r.askings[id]; a != nil {
			return a.settled, nil
		}
		return closed, nil
	}
	for _, c := range r.calls {
		if c.publicID() == callID && r.asksLocked(c) {
			if c.State == runstore.CallSettled { // in an earlier process
				return closed, nil
			}
			a := r.askingLocked(c.ID)
			r.answered = append(r.answered, c.ID)
			a.answer <- answer
			return a.settled, nil
		}
	}
	return nil, failf(CodeInvalidInput, "", PhaseInput,
		"the run waits for no answer to %q. Answer the calls in pendingToolCalls that have an input or inputBytes.", text.Cut(callID, 64))
}

// closed is a channel with nothing to wait for.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// asksLocked reports whether a call is one of a tool that the caller answers. The
// caller holds mu.
func (r *run) asksLocked(c *call) bool {
	if c.Method != methodOfAsked {
		return false
	}
	if c.Tool != "" {
		return r.reach.client.asks(c.Tool)
	}
	tool, err := r.view().catalog.Resolve(c.Target)
	return err == nil && r.reach.client.asks(tool.ID())
}
