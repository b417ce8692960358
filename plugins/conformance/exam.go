package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// exam is a part in progress that asks a plugin started by package plugins.
type exam struct {
	*setting
	process *plugins.Process
}

// run is the run all calls are made for.
var run = namespaces.RunContext{AgentID: "conformance", SessionKey: "conformance", SessionID: "conformance", RunID: "conformance"}

// setup makes the calls that the declared ones need.
func (e *exam) setup() {
	for _, c := range e.declared.Setup {
		if _, err := e.call(e.ctx, c.Tool, c.Input); err != nil {
			e.problem("the declared setup call of %s failed: %v", c.Tool, err)
		}
	}
}

func (e *exam) call(ctx context.Context, tool string, input json.RawMessage) (json.RawMessage, error) {
	return e.keyedCall(ctx, tool, input, "", nil)
}

// callAs calls a tool for a session.
func (e *exam) callAs(ctx context.Context, as namespaces.RunContext, tool string, input json.RawMessage, key string, progress func(json.RawMessage)) (json.RawMessage, error) {
	id := fmt.Sprintf("call-%d", e.calls.Add(1))
	return e.process.CallTool(ctx, plugins.CallRequest{Tool: tool, CallID: id, IdempotencyKey: cmp.Or(key, id), Run: as, Input: input}, progress)
}

// alive reports a plugin that does not answer any more.
func (e *exam) alive(after string) {
	if _, err := e.process.Health(e.ctx); err != nil {
		e.problem("after %s the plugin is not healthy: %v", after, err)
	}
}

// wantKind reports an error that is not of the given kind.
func (e *exam) wantKind(what string, err error, want protocol.Kind) {
	var got *protocol.Error
	switch {
	case err == nil:
		e.problem("%s succeeded; expected an error of kind %v", what, want)
	case !errors.As(err, &got) || got.Kind != want:
		e.problem("%s failed with %q; expected an error of kind %v", what, err, want)
	case got.Message == "":
		e.problem("%s failed without a message; the model needs one", what)
	}
}

// keyedCall calls a tool with an idempotency key; "" is one of its own.
func (e *exam) keyedCall(ctx context.Context, tool string, input json.RawMessage, key string, progress func(json.RawMessage)) (json.RawMessage, error) {
	return e.callAs(ctx, run, tool, input, key, progress)
}
