package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

func health(e *exam) {
	h, err := e.process.Health(e.ctx)
	if err != nil {
		e.problem("Health failed: %v", err)
	}
	if h.RunningCalls != 0 {
		e.problem("an idle plugin reports %d running calls", h.RunningCalls)
	}
}

func wrongInputs(e *exam) {
	for _, t := range e.process.Describe().Tools {
		for _, input := range []string{`[]`, `null`, `"text"`} {
			_, err := e.call(e.ctx, t.Name, json.RawMessage(input))
			e.wantKind(fmt.Sprintf("calling %s with %s", t.Name, input), err, protocol.KindInput)
		}
		if closed(t.Parameters) {
			_, err := e.call(e.ctx, t.Name, json.RawMessage(`{"no such field": 1}`))
			e.wantKind(fmt.Sprintf("calling %s with an unknown field", t.Name), err, protocol.KindInput)
		}
	}
	e.alive("wrong inputs")
}

// closed reports whether a schema says that it allows no further fields.
func closed(schema json.RawMessage) bool {
	var s struct {
		AdditionalProperties *json.RawMessage `json:"additionalProperties"`
	}
	return json.Unmarshal(schema, &s) == nil && s.AdditionalProperties != nil && string(*s.AdditionalProperties) == "false"
}

func unknownNames(e *exam) {
	_, err := e.call(e.ctx, "no_such_tool", json.RawMessage(`{}`))
	e.wantKind("calling a tool that does not exist", err, protocol.KindInput)
	_, err = e.process.CreateScope(e.ctx, "no_such_namespace", run)
	e.wantKind("asking for a namespace that does not exist", err, protocol.KindInput)
	for _, n := range e.process.Describe().Namespaces {
		_, err := e.process.MapInput(e.ctx, n.ID, run, "no such mapper", nil)
		e.wantKind("asking namespace "+n.ID+" for a mapper that does not exist", err, protocol.KindInput)
	}
	e.alive("unknown names")
}

func examples(e *exam) {
	if !e.examples {
		e.notExercised("examples, which were to be skipped")
		return
	}
	for _, t := range e.process.Describe().Tools {
		if !t.ReadOnly || len(t.Examples) == 0 {
			continue
		}
		for i, example := range t.Examples {
			e.example(t, i+1, example)
		}
	}
}

func (e *exam) example(t protocol.ToolInfo, n int, example protocol.Example) {
	result, err := e.call(e.ctx, t.Name, example.Input)
	var failure *protocol.Error
	switch {
	case errors.As(err, &failure) && failure.Kind == protocol.KindTool:
		return // an honest answer, for instance that there is no such thing
	case err != nil:
		e.problem("example %d of %s failed: %v", n, t.Name, err)
		return
	}
	if t.Output == nil {
		return
	}
	if err := manifest.ValidateJSON(t.Output, result); err != nil {
		e.problem("the result of example %d of %s does not fit the output schema: %v", n, t.Name, err)
	}
}

func scopes(e *exam) {
	for _, n := range e.process.Describe().Namespaces {
		first, err := e.process.CreateScope(e.ctx, n.ID, run)
		if err != nil {
			e.problem("namespace %s makes no usable scope: %v", n.ID, err)
			continue
		}
		again, err := e.process.CreateScope(e.ctx, n.ID, run)
		if err != nil {
			e.problem("namespace %s makes no second scope: %v", n.ID, err)
			continue
		}
		if !bytes.Equal(first.Guest(), again.Guest()) {
			e.problem("namespace %s makes different scopes for one run; guests may keep a path and use it later", n.ID)
		}
		e.fits(n.ID, first)
	}
}

// fits holds the calls of a scope against the schemas of their tools: inputs must be able
// to reach the tool, and results to have the methods that are said of them.
func (e *exam) fits(namespace string, scope *namespaces.Scope) {
	for path, call := range scope.Calls() {
		tool, ok := e.process.Describe().Tool(call.Tool)
		if !ok {
			continue // a host refuses the scope
		}
		if err := call.Check(tool.Parameters, tool.Output); err != nil {
			e.problem("%s of namespace %s does not fit tool %s: %v", strings.Join(path, "."), namespace, tool.Name, err)
		}
	}
}

// hooks shows the plugin a call of a tool that no plugin has. Its answer is
// its own affair, as long as a host could use it.
func hooks(e *exam) {
	c := protocol.ToolCall{
		Kind: "tool", ToolID: "quoin:conformance:no_such_tool", Source: "quoin", Owner: "conformance", ToolName: "no_such_tool",
		Params: json.RawMessage(`{}`), Run: protocol.RunContext(run), CallID: "call-hook",
	}
	own := e.process.Describe().Capabilities
	if own.BeforeToolCall {
		v, err := e.process.BeforeToolCall(e.ctx, c)
		e.answered("before", err)
		e.verdict(v)
	}
	if own.AfterToolCall {
		_, err := e.process.AfterToolCall(e.ctx, c, protocol.CallOutcome{Status: "ok", Value: json.RawMessage(`null`)})
		e.answered("after", err)
	}
	e.alive("hooks")
}

// answered reports a hook that broke. It may fail: that blocks the call.
func (e *exam) answered(when string, err error) {
	var failure *protocol.Error
	if errors.As(err, &failure) && !failure.FromTool() {
		e.problem("the hook %s tool calls broke: %v", when, err)
	}
}

// verdict reports what a host would take for garbage.
func (e *exam) verdict(v protocol.HookVerdict) {
	if p := bytes.TrimSpace(v.Params); len(p) > 0 && p[0] != '{' {
		e.problem("the hook before tool calls rewrote an input into %.100s; it must be an object", p)
	}
	if v.Reason != "" && !v.Block {
		e.problem("the hook before tool calls gave a reason to block, but did not block")
	}
	a := v.Approval
	if a == nil {
		return
	}
	known := func(d string) bool { return slices.Contains([]string{"allow-once", "allow-always", "deny"}, d) }
	if a.Timeout < 0 || !slices.Contains([]string{"", "info", "warning", "critical"}, a.Severity) || slices.ContainsFunc(a.Allowed, func(d string) bool { return !known(d) }) {
		e.problem("the hook before tool calls asks for an approval that no host understands: %+v", *a)
	}
}
