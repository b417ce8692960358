package conformance

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// cancelled cancels calls before they start and while they run.
func cancelled(e *exam) {
	gone, cancel := context.WithCancel(e.ctx)
	cancel()
	for _, t := range e.process.Describe().Tools {
		if !t.ReadOnly || len(t.Examples) == 0 || !e.examples {
			continue
		}
		if _, err := e.call(gone, t.Name, t.Examples[0].Input); err == nil {
			e.problem("a cancelled call of %s returned a result", t.Name)
		}
	}
	e.setup()
	ctx, cancel := context.WithCancel(e.ctx)
	wait := e.waitingCalls(ctx, 2)
	cancel()
	for _, err := range wait() {
		e.wantKind("a call that was cancelled while it ran", err, protocol.KindCancelled)
	}
	e.drained("cancelled calls")
}

// drained reports calls that still run though their callers are gone.
func (e *exam) drained(after string) {
	ctx, cancel := context.WithTimeout(e.ctx, e.timeout)
	defer cancel()
	if left, err := e.process.Drain(ctx); err != nil || left > 0 {
		e.problem("%v after %s %d are still running (%v); a tool must end when its call is cancelled", e.timeout, after, left, err)
		return
	}
	if h, err := e.process.Health(e.ctx); err != nil || h.RunningCalls != 0 {
		e.problem("when Drain had returned after %s, Health counted %d running calls (%v); expected 0", after, h.RunningCalls, err)
	}
}

func draining(e *exam) {
	if _, err := e.process.Drain(e.ctx); err != nil {
		e.problem("Drain failed: %v", err)
	}
	for _, t := range e.process.Describe().Tools {
		_, err := e.call(e.ctx, t.Name, json.RawMessage(`{}`))
		e.wantKind("calling "+t.Name+" while draining", err, protocol.KindProcess)
	}
	if _, err := e.process.Health(e.ctx); err != nil {
		e.problem("a draining plugin does not answer Health: %v", err)
	}
}

// drainWaits drains the plugin while a call is running.
func drainWaits(e *exam) {
	e.setup()
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	wait := e.waitingCalls(ctx, 1)
	if e.declared.Waiting == nil {
		return
	}
	bounded, stop := context.WithTimeout(e.ctx, e.timeout)
	defer stop()
	type outcome struct {
		left int
		err  error
	}
	drained := make(chan outcome, 1)
	go func() {
		left, err := e.process.Drain(bounded)
		drained <- outcome{left, err}
	}()
	for e.takesCalls(bounded) {
		select {
		case o := <-drained:
			e.problem("Drain returned (%d left, %v) while a call was running and it had time left", o.left, o.err)
			return
		default:
		}
	}
	cancel()
	wait()
	if o := <-drained; o.err != nil || o.left != 0 {
		e.problem("when the last running call had ended, Drain returned %d calls left (%v); expected 0", o.left, o.err)
	}
}

// takesCalls reports whether the plugin does not refuse a call as draining.
func (e *exam) takesCalls(ctx context.Context) bool {
	_, err := e.call(ctx, "no_such_tool", json.RawMessage(`{}`))
	var got *protocol.Error
	return ctx.Err() == nil && !(errors.As(err, &got) && got.Kind == protocol.KindProcess && got.Code == protocol.CodeDraining)
}

func stops(e *exam) {
	if err := e.process.Close(); err != nil {
		e.problem("closing failed: %v", err)
	}
	if e.process.Killed() {
		e.problem("the plugin did not end by itself when asked to and had to be killed")
	}
}
