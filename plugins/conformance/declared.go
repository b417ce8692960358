package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// badConfigurations starts the plugin with what it must not come up with.
func badConfigurations(s *setting) error {
	if len(s.declared.BadConfig) == 0 {
		s.notExercised("badConfig is not declared")
	}
	for _, config := range s.declared.BadConfig {
		o := s.options()
		o.Config = config
		p, err := plugins.Start(s.ctx, s.found, o)
		var refused *plugins.StartError
		switch {
		case err == nil:
			s.problem("the plugin came up with the configuration %s", config)
			if err := p.Close(); err != nil {
				s.problem("closing the plugin: %v", err)
			}
		case !errors.As(err, &refused) || !refused.Refused:
			s.problem("the configuration %s made the start fail with %q; expected an error of kind plugin from Configure, so that no host tries again", config, err)
		}
	}
	return nil
}

// declaredCalls makes each declared call that ends by itself.
func declaredCalls(e *exam) {
	e.setup()
	d := e.declared
	e.declaredResult(d.Result, "result")
	if d.Failure == nil {
		e.notExercised("failure is not declared: a tool's own error")
	} else {
		e.declaredFailure(*d.Failure)
	}
	if d.Progress == nil {
		e.notExercised("progress is not declared: progress before a result")
	} else {
		e.declaredProgress(*d.Progress)
	}
	if d.Large == nil {
		e.notExercised("large is not declared: a large result")
	} else if result := e.declaredResult(&d.Large.Call, "large"); result != nil && len(result) < d.Large.Bytes {
		e.problem("the declared large result of %s has %d bytes; expected at least %d", d.Large.Tool, len(result), d.Large.Bytes)
	}
	if d.Once == nil {
		e.notExercised("once is not declared: a change that an idempotency key bounds")
	} else {
		e.declaredOnce(*d.Once)
	}
	if d.Undo != nil {
		e.declaredUndo(*d.Undo)
	} else if slices.ContainsFunc(e.process.Describe().Tools, func(t protocol.ToolInfo) bool { return t.Revertible }) {
		e.notExercised("undo is not declared: a call that its inverse undoes")
	}
	e.alive("declared calls")
}

// declaredResult makes a call that must succeed and fit its output schema.
func (e *exam) declaredResult(c *Call, field string) json.RawMessage {
	if c == nil {
		e.notExercised("%s is not declared: a call that succeeds", field)
		return nil
	}
	result, err := e.call(e.ctx, c.Tool, c.Input)
	if err != nil {
		e.problem("the declared call %s of %s failed: %v", field, c.Tool, err)
		return nil
	}
	if t, ok := e.process.Describe().Tool(c.Tool); ok && t.Output != nil {
		if err := manifest.ValidateJSON(t.Output, result); err != nil {
			e.problem("the result of the declared call %s of %s does not fit its output schema: %v", field, c.Tool, err)
		}
	}
	return result
}

func (e *exam) declaredFailure(f Failure) {
	_, err := e.call(e.ctx, f.Tool, f.Input)
	e.wantKind("the declared failure of "+f.Tool, err, protocol.KindTool)
	var got *protocol.Error
	if errors.As(err, &got) && got.Code != f.Code {
		e.problem("the declared failure of %s has the code %q; expected %q", f.Tool, got.Code, f.Code)
	}
}

func (e *exam) declaredProgress(c Call) {
	reports := 0
	_, err := e.keyedCall(e.ctx, c.Tool, c.Input, "", func(json.RawMessage) { reports++ })
	if err != nil {
		e.problem("the declared call progress of %s failed: %v", c.Tool, err)
	}
	if reports == 0 {
		e.problem("the declared call progress of %s reported none before its result", c.Tool)
	}
}

// declaredOnce makes a change twice under one key and once under another.
func (e *exam) declaredOnce(c Call) {
	var results []json.RawMessage
	for _, key := range []string{"conformance-a", "conformance-a", "conformance-b"} {
		result, err := e.keyedCall(e.ctx, c.Tool, c.Input, key, nil)
		if err != nil {
			e.problem("the declared call once of %s failed: %v", c.Tool, err)
			return
		}
		results = append(results, result)
	}
	if !bytes.Equal(results[0], results[1]) {
		e.problem("two calls of %s with the same idempotency key returned %.100s and %.100s; expected the same", c.Tool, results[0], results[1])
	}
	if bytes.Equal(results[1], results[2]) {
		e.problem("calls of %s with different idempotency keys both returned %.100s; expected that each takes effect", c.Tool, results[2])
	}
}

// declaredUndo makes a change, and undoes it as a host does that was killed in the
// middle: twice, with one idempotency key.
func (e *exam) declaredUndo(u Undo) {
	before, made := e.shown(u.Shows), (*protocol.Inverse)(nil)
	_, err := e.process.CallTool(e.ctx, plugins.CallRequest{
		Tool: u.Tool, CallID: "call-undo", IdempotencyKey: "conformance-undo", Run: run, Input: u.Input,
		RevertBy: func(i protocol.Inverse) { made = &i },
	}, nil)
	if err != nil {
		e.problem("the declared call undo of %s failed: %v", u.Tool, err)
		return
	}
	if made == nil || made.Impossible != "" {
		e.problem("the declared call undo of %s named no inverse with its result; expected a tool and its input", u.Tool)
		return
	}
	if t, ok := e.process.Describe().Tool(made.Tool); !ok || !t.Idempotent {
		e.problem("%s is undone by %q; expected a tool of the plugin that is idempotent, because a host that was killed calls it again", u.Tool, made.Tool)
		return
	}
	if after := e.shown(u.Shows); bytes.Equal(before, after) {
		e.problem("%s returned %.100s before the declared call undo of %s and after it; expected that the change shows", u.Shows.Tool, after, u.Tool)
	}
	for range 2 {
		if _, err := e.keyedCall(e.ctx, made.Tool, made.Input, "conformance-inverse", nil); err != nil {
			e.problem("%s, which undoes %s, failed: %v", made.Tool, u.Tool, err)
			return
		}
	}
	if end := e.shown(u.Shows); !bytes.Equal(before, end) {
		e.problem("%s returned %.100s before %s was called, and %.100s once %s had undone that; expected the same", u.Shows.Tool, before, u.Tool, end, made.Tool)
	}
}

// shown is the result of a call that shows what another one has changed.
func (e *exam) shown(c Call) json.RawMessage {
	result, err := e.call(e.ctx, c.Tool, c.Input)
	if err != nil {
		e.problem("the declared call shows of %s failed: %v", c.Tool, err)
	}
	return result
}

// concurrent makes calls at the same time, some next to ones that do not end.
func concurrent(e *exam) {
	e.setup()
	ctx, cancel := context.WithCancel(e.ctx)
	wait := e.waitingCalls(ctx, 3)
	defer func() { cancel(); wait() }()
	call := e.declared.Result
	if call == nil {
		e.notExercised("result is not declared: only unknown tools are called at the same time")
		call = &Call{Tool: "no_such_tool", Input: json.RawMessage(`{}`)}
	}
	const callers = 32
	results, errs := make([]json.RawMessage, callers), make([]error, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { results[i], errs[i] = e.call(e.ctx, call.Tool, call.Input) })
	}
	all.Wait()
	for _, err := range errs {
		if e.declared.Result == nil {
			e.wantKind("one of many calls of a tool that does not exist", err, protocol.KindInput)
		} else if err != nil {
			e.problem("a call of %s among %d at the same time failed: %v", call.Tool, callers, err)
		}
	}
	e.alive("calls at the same time")
}

// waitingCalls starts n of the declared calls that do not end, and returns once
// the plugin has them, with a function that waits for their end. Without a
// declaration it does nothing.
func (e *exam) waitingCalls(ctx context.Context, n int) (wait func() []error) {
	if e.declared.Waiting == nil {
		e.notExercised("waiting is not declared: calls that last until they are cancelled")
		return func() []error { return nil }
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { _, errs[i] = e.call(ctx, e.declared.Waiting.Tool, e.declared.Waiting.Input) })
	}
	ended := make(chan struct{})
	go func() { all.Wait(); close(ended) }()
	e.untilRunning(n, ended)
	return func() []error { <-ended; return errs }
}

// untilRunning asks for the plugin's health until it has n calls, all waiting
// calls have ended, or time is up.
func (e *exam) untilRunning(n int, ended <-chan struct{}) {
	ctx, cancel := context.WithTimeout(e.ctx, e.timeout)
	defer cancel()
	for {
		select {
		case <-ended:
			e.problem("a declared waiting call of %s has ended by itself", e.declared.Waiting.Tool)
			return
		default:
		}
		h, err := e.process.Health(ctx)
		if err != nil {
			e.problem("while %d calls were running, Health counted %d of them (%v)", n, h.RunningCalls, err)
			return
		}
		if h.RunningCalls >= n {
			return
		}
	}
}
