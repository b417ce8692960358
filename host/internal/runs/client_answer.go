package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
)

// Answer is Host.Answer.
func (e *Engine) Answer(ctx context.Context, s codemode.Session, runID, callID string, a codemode.ToolAnswer) error {
	if len(a.Value) == 0 {
		a.Value = json.RawMessage("null")
	}
	if a.Error == "" && (!json.Valid(a.Value) || !utf8.Valid(a.Value)) {
		return codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseInput, "the answer to %s is not JSON in UTF-8.", text.Cut(callID, 64))
	}
	q := e.newRouter(cluster.Request{Verb: cluster.VerbAnswer, Run: runID, Session: s, Call: callID, Value: a.Value, Error: a.Error}, time.Now().Add(e.Times.HolderPatience), ignore)
	for {
		err := e.answerHere(ctx, s, runID, callID, a)
		var f *codemode.Error
		if !errors.As(err, &f) || !held(f) {
			return err
		}
		reply, again := q.ask(ctx)
		switch {
		case again:
		case reply == nil:
			return err
		case reply.Done:
			return nil
		default:
			return reply.Result.Err()
		}
	}
}

// answerHere is Answer to a run that this host has, or takes.
func (e *Engine) answerHere(ctx context.Context, s codemode.Session, runID, callID string, a codemode.ToolAnswer) error {
	r, f := e.answerable(ctx, s, runID)
	if f != nil {
		return f
	}
	settled, f := r.Calls.Questions.GiveAnswer(callID, a, r.AsksClient)
	if f != nil {
		return f
	}
	select {
	case <-settled:
		return nil
	case <-r.Context.Done():
		if cause := r.Record.GaveUp(); cause != nil {
			return fault.FromStore(cause)
		}
		return codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "code mode run has ended: %v", context.Cause(r.Context))
	case <-ctx.Done():
		return fmt.Errorf("the answer was taken but may not be stored yet: %w", context.Cause(ctx))
	}
}

// PendingInput is Host.PendingInput.
func (e *Engine) PendingInput(ctx context.Context, s codemode.Session, runID, callID string) (json.RawMessage, error) {
	pending, f := e.callsOf(ctx, s, runID)
	if f != nil {
		return nil, f
	}
	for _, c := range pending {
		if c.State == runstore.CallAsked && calls.PublicID(&c) == callID {
			return c.Input, nil
		}
	}
	return nil, codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput,
		"the run waits for no answer to %q. Ask for the input of a call in pendingToolCalls that has inputBytes.", text.Cut(callID, 64))
}

// callsOf returns the calls of a run of the session that it waits for, from the store
// if it is not here.
func (e *Engine) callsOf(ctx context.Context, s codemode.Session, id string) (calls []runstore.Call, _ *codemode.Error) {
	r := e.ByID(id)
	if r == nil {
		rec, err := e.recordFor(ctx, s, id)
		if err != nil {
			return nil, fault.FromStore(err)
		}
		return rec.Calls, nil
	}
	if f := fault.MayResume(r.Session, s); f != nil {
		return nil, f
	}
	return r.Calls.List(), nil
}

// answerable returns a run of the session, from the store if it is not here.
func (e *Engine) answerable(ctx context.Context, s codemode.Session, id string) (*drive.Run, *codemode.Error) {
	defer e.advancer.YieldTo(ctx, id)()
	e.answering.Lock() // of several answers to one stored run, one loads it
	defer e.answering.Unlock()
	e.mu.Lock()
	r, closed := e.runs[id], e.closed
	e.mu.Unlock()
	switch {
	case closed:
		return nil, codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost, "code mode is shutting down.")
	case r != nil:
		return r, fault.MayResume(r.Session, s)
	}
	r, rec, f := e.load(ctx, s, id, 0, nil)
	if f != nil {
		return nil, f
	}
	if !r.MarkParked(rec.Expires, len(rec.Image)) {
		return nil, r.EndUnparked()
	}
	return r, nil
}
