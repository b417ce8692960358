package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

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

// clientCall is a call that the run's client is to answer.
type clientCall struct {
	answer  chan ToolAnswer // capacity 1
	settled chan struct{}   // closed once the answer is in the run, and in the store of a stored one
}

// methodOfAsked is the method of calls that a caller answers: namespaces reach
// only tools of plugins.
const methodOfAsked = string(wire.MethodCall)

// ask waits until the run's caller has answered a call. Meanwhile nothing of it
// goes on in this process, so a host that closes does not wait for it.
func (r *run) ask(ctx context.Context, c *call) (json.RawMessage, error) {
	answer, d := r.calls.askClient(c, c.input)
	if d != nil {
		e := rejectf(codeQuota, "The call was not made: %v.", d)
		e.ToolID, e.EffectStatus = c.Tool, effectNone
		return nil, e
	}
	r.engine.performing.pause()
	defer func() {
		r.engine.performing.resume()
		r.calls.clientAnswered()
	}()
	if err := r.record.journal(r.background()); err != nil {
		return nil, err
	}
	r.notify()
	select {
	case answer := <-answer:
		if answer.Error != "" {
			return nil, errors.New(answer.Error)
		}
		return answer.Value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// askClient makes a call wait for the client and returns where the answer will be.
func (t *callTable) askClient(c *call, input json.RawMessage) (<-chan ToolAnswer, *quota.Denied) {
	t.mu.Lock()
	defer t.mu.Unlock()
	more := int64(len(input) - len(c.Input)) // an approved call, or one of another host, has it already
	if more <= 0 {
		t.account.force(more)
	} else if d := t.account.charge(more); d != nil {
		return nil, d
	}
	c.State, c.Input = runstore.CallAsked, input
	c.charged += more
	t.onClient++
	t.touch(c)
	return t.clientCall(c.ID).answer, nil
}

// clientAnswered notes that a call no longer waits for the client.
func (t *callTable) clientAnswered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onClient--
}

// clientCall returns the place for the client's answer to a call, which may come before
// the call waits for it. The caller holds mu.
func (t *callTable) clientCall(id uint64) *clientCall {
	a := t.clientCalls[id]
	if a == nil {
		a = &clientCall{answer: make(chan ToolAnswer, 1), settled: make(chan struct{})}
		if t.clientCalls == nil {
			t.clientCalls = make(map[uint64]*clientCall)
		}
		t.clientCalls[id] = a
	}
	return a
}

// Answer is Host.Answer.
func (e *engine) Answer(ctx context.Context, s Session, runID, callID string, a ToolAnswer) error {
	if len(a.Value) == 0 {
		a.Value = json.RawMessage("null")
	}
	if a.Error == "" && (!json.Valid(a.Value) || !utf8.Valid(a.Value)) {
		return failf(CodeInvalidInput, "", PhaseInput, "the answer to %s is not JSON in UTF-8.", text.Cut(callID, 64))
	}
	r, f := e.answerable(ctx, s, runID)
	if f != nil {
		return f
	}
	settled, f := r.calls.giveAnswer(callID, a, r.asksClient)
	if f != nil {
		return f
	}
	select {
	case <-settled:
		return nil
	case <-r.ctx.Done():
		return failf(CodeAborted, "", PhaseHost, "code mode run has ended: %v", context.Cause(r.ctx))
	case <-ctx.Done():
		return fmt.Errorf("the answer was taken but may not be stored yet: %w", context.Cause(ctx))
	}
}

// PendingInput is Host.PendingInput.
func (e *engine) PendingInput(ctx context.Context, s Session, runID, callID string) (json.RawMessage, error) {
	calls, f := e.callsOf(ctx, s, runID)
	if f != nil {
		return nil, f
	}
	for _, c := range calls {
		if c.State == runstore.CallAsked && (&call{Call: c}).publicID() == callID {
			return c.Input, nil
		}
	}
	return nil, failf(CodeInvalidInput, ReasonRunUnavailable, PhaseInput,
		"the run waits for no answer to %q. Ask for the input of a call in pendingToolCalls that has inputBytes.", text.Cut(callID, 64))
}

// callsOf returns the calls of a run of the session that it waits for, from the store
// if it is not here.
func (e *engine) callsOf(ctx context.Context, s Session, id string) (calls []runstore.Call, _ *failure) {
	r := e.runByID(id)
	if r == nil {
		rec, err := e.recordFor(ctx, s, id)
		if err != nil {
			return nil, ofStore(err)
		}
		return rec.Calls, nil
	}
	if f := mayResume(r.session, s); f != nil {
		return nil, f
	}
	return r.calls.list(), nil
}

// answerable returns a run of the session, from the store if it is not here.
func (e *engine) answerable(ctx context.Context, s Session, id string) (*run, *failure) {
	e.answering.Lock() // of several answers to one stored run, one loads it
	defer e.answering.Unlock()
	e.mu.Lock()
	r, closed := e.runs[id], e.closed
	e.mu.Unlock()
	switch {
	case closed:
		return nil, failf(CodeUnavailable, "", PhaseHost, "code mode is shutting down.")
	case r != nil:
		return r, mayResume(r.session, s)
	}
	r, rec, f := e.load(ctx, s, id, time.Now(), nil)
	if f != nil {
		return nil, f
	}
	if !r.markParked(rec.Expires, len(rec.Image)) {
		r.finish(context.Cause(r.ctx))
		return nil, r.aborted()
	}
	return r, nil
}

// giveAnswer hands an answer to its call and returns what is closed once it is taken.
func (t *callTable) giveAnswer(callID string, answer ToolAnswer, asksClient func(*call) bool) (<-chan struct{}, *failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range t.answered {
		if (&call{Call: runstore.Call{ID: id, Method: methodOfAsked}}).publicID() != callID {
			continue
		}
		if a := t.clientCalls[id]; a != nil {
			return a.settled, nil
		}
		return closed, nil
	}
	for _, c := range t.pending {
		if c.publicID() == callID && asksClient(c) {
			if c.State == runstore.CallSettled { // in an earlier process
				return closed, nil
			}
			a := t.clientCall(c.ID)
			t.answered = append(t.answered, c.ID)
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

// asksClient reports whether a call is one of a tool that the client answers. The
// caller holds calls.mu.
func (r *run) asksClient(c *call) bool {
	if c.Method != methodOfAsked {
		return false
	}
	if c.Tool != "" {
		return r.access.client.asks(c.Tool)
	}
	tool, err := r.view().catalog.Resolve(c.Target)
	return err == nil && r.access.client.asks(tool.ID())
}
