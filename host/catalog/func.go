package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/quoinhq/quoin/internal/typeschema"
)

// Func makes t a tool that calls f. Parameters and Output of t are inferred from In and
// Out, with the field tags that package sdk knows: In is a struct or a map with string
// keys, and a field is optional if it is marked omitempty or omitzero. Func panics if In
// or Out have no schema, or if f is nil, because that is the mistake of a programmer.
//
// The input has been checked and has its defaults when f gets it; f is called
// concurrently. InvocationOf tells f who calls. If f returns an error, the program catches it.
func Func[In, Out any](t Tool, f func(ctx context.Context, in In) (Out, error)) Tool {
	in, err := typeschema.Input(reflect.TypeFor[In]())
	if err != nil {
		panic(fmt.Sprintf("catalog: tool %q: input: %v", t.Name, err))
	}
	out, err := typeschema.Output(reflect.TypeFor[Out]())
	if err != nil {
		panic(fmt.Sprintf("catalog: tool %q: output: %v", t.Name, err))
	}
	resolved, err := in.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("catalog: tool %q: the schema of its input cannot be used: %v", t.Name, err))
	}
	if f == nil {
		panic(fmt.Sprintf("catalog: tool %q has no function", t.Name))
	}
	t.Parameters, t.Output = mustEncode(in), nil
	if out != nil {
		t.Output = mustEncode(out)
	}
	defaults := typeschema.DefaultsOf(in, resolved)
	t.Invoke = func(ctx context.Context, c Invocation) (json.RawMessage, error) {
		input, err := defaults.Fill(c.Input)
		if err != nil {
			return nil, fmt.Errorf("the defaults of %s do not fit: %w", t.Name, err)
		}
		var v In
		if err := json.Unmarshal(input, &v); err != nil {
			return nil, fmt.Errorf("the input of %s does not fit: %w", t.Name, err)
		}
		result, err := f(ctx, v)
		if err != nil {
			return nil, err
		}
		return typeschema.Encode(result, out)
	}
	return t
}

// mustEncode encodes an inferred schema, which always can be.
func mustEncode(schema any) json.RawMessage {
	b, err := json.Marshal(schema)
	if err != nil {
		panic("catalog: an inferred schema cannot be encoded: " + err.Error())
	}
	return b
}

// FromDefinitions makes tools of definitions (name, description and Parameters, and
// whatever else a Tool says of itself) and one function that calls any of them by name.
// It is for gateways that have a list of tools and a way to call them. It returns copies.
//
// The input is a JSON object that has been checked; the result is JSON. Call is called
// concurrently; InvocationOf tells it who calls. If call returns an error, the program catches
// it.
func FromDefinitions(definitions []Tool, call func(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error)) []Tool {
	tools := make([]Tool, len(definitions))
	for i, t := range definitions {
		t.Invoke = func(ctx context.Context, c Invocation) (json.RawMessage, error) { return call(ctx, t.Name, c.Input) }
		tools[i] = t
	}
	return tools
}

// invocationKey is the context key of WithInvocation.
type invocationKey struct{}

// WithInvocation returns the context of a call, from which InvocationOf returns it.
// Hosts use it.
func WithInvocation(ctx context.Context, c *Invocation) context.Context {
	return context.WithValue(ctx, invocationKey{}, c)
}

// InvocationOf returns the call that a tool is invoked for, from the context that the tool has
// got: the caller, the idempotency key, and how to ask a person. Do not change it. It is nil
// if ctx is not the context of a call.
func InvocationOf(ctx context.Context) *Invocation {
	c, _ := ctx.Value(invocationKey{}).(*Invocation)
	return c
}
