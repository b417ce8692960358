package runstest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/trajectory"
)

// N is an input of one number.
func N(n int) map[string]int { return map[string]int{"n": n} }

// Echo is a tool that returns its input.
func Echo(name string) catalog.Tool {
	return catalog.Tool{Name: name, Description: "Returns its input.", ReadOnly: true, Invoke: func(_ context.Context, c catalog.Invocation) (json.RawMessage, error) {
		return c.Input, nil
	}}
}

// Numbers is Echo with a schema: it takes one number.
func Numbers(name string) catalog.Tool {
	t := Echo(name)
	t.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)
	return t
}

// Failing is a tool that fails.
func Failing(name, message string) catalog.Tool {
	return Does(name, func(context.Context, catalog.Invocation) (json.RawMessage, error) { return nil, errors.New(message) })
}

// Does is a tool that may change something.
func Does(name string, invoke func(context.Context, catalog.Invocation) (json.RawMessage, error)) catalog.Tool {
	return catalog.Tool{Name: name, Description: "Does something.", Invoke: invoke}
}

// Gate is a tool that returns once it is opened.
type Gate struct {
	Entered chan catalog.Invocation
	Open    chan struct{}
	Ended   chan error // why calls were cut off
}

// NewGate returns a gate.
func NewGate() *Gate {
	return &Gate{Entered: make(chan catalog.Invocation, 1000), Open: make(chan struct{}), Ended: make(chan error, 1000)}
}

// Tool is the tool, by a name.
func (g *Gate) Tool(name string) catalog.Tool {
	return Does(name, func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
		g.Entered <- c
		select {
		case <-g.Open:
			return json.RawMessage(`"through"`), nil
		case <-ctx.Done():
			g.Ended <- context.Cause(ctx)
			return nil, ctx.Err()
		}
	})
}

// Calls are the calls that a tool has had.
type Calls struct {
	mu   sync.Mutex
	list []catalog.Invocation
}

// Tool is a tool that returns its input, by a name.
func (c *Calls) Tool(name string) catalog.Tool {
	return Does(name, func(_ context.Context, inv catalog.Invocation) (json.RawMessage, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.list = append(c.list, inv)
		return inv.Input, nil
	})
}

// Len is how many there were.
func (c *Calls) Len() int { return len(c.All()) }

// All returns them.
func (c *Calls) All() []catalog.Invocation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]catalog.Invocation(nil), c.list...)
}

// Says is a hook with one answer.
func Says(name string, v policy.Verdict, tools ...string) policy.Hook {
	return policy.Hook{Name: name, Tools: tools, Before: func(context.Context, *policy.Call) (policy.Verdict, error) { return v, nil }}
}

// Asks is a hook that asks people about calls of tools.
func Asks(r policy.ApprovalRequest, tools ...string) policy.Hook {
	return Says("guard", policy.Verdict{Approval: &r}, tools...)
}

// Events are those that a host has told of.
type Events struct {
	mu   sync.Mutex
	list []trajectory.Event
}

// Record implements trajectory.Sink.
func (e *Events) Record(event trajectory.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, event)
	return nil
}

// About returns the events of one kind about a run.
func (e *Events) About(id string, kind trajectory.Kind) (out []trajectory.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.list {
		if event.RunID == id && event.Kind == kind {
			out = append(out, event)
		}
	}
	return out
}
