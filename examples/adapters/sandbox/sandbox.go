// Package sandbox runs Quoin where a gateway has a sandbox that runs one piece of code
// over a caller of tools, in the shape of gridctl's Sandbox.Execute. Its types are written
// down here, since they belong to a program and not to a library.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/examples/adapters/internal/outcome"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// Tool is a tool of the gateway. Its name is the server's name, two underscores, and its
// own name.
type Tool struct {
	Name, Description string
	InputSchema       json.RawMessage
}

// Content is one item of a tool's result.
type Content struct{ Type, Text string }

// ToolCallResult is what a tool has returned.
type ToolCallResult struct {
	Content []Content
	IsError bool
}

// ToolCaller calls tools, and allows or refuses each call.
type ToolCaller interface {
	CallTool(ctx context.Context, name string, arguments map[string]any) (*ToolCallResult, error)
}

// ExecuteResult is the result of a piece of code.
type ExecuteResult struct {
	Value   string   // JSON
	Console []string // what it printed
}

// Sandbox runs code in sealed guests of a host.
type Sandbox struct {
	Host *host.Host
	// Session returns the session of the code, from the context of the request.
	Session func(context.Context) host.Session
}

// callTool is the function that code in this shape calls. It is on the first line of the
// code, so that lines keep their numbers.
const callTool = `const mcp = { callTool: (server, tool, args = {}) => tools.call(server + "__" + tool, args) }; `

// Execute runs code over the allowed tools, and over no others.
func (s *Sandbox) Execute(ctx context.Context, code string, caller ToolCaller, allowed []Tool) (*ExecuteResult, error) {
	definitions := make([]catalog.Tool, len(allowed))
	for i, t := range allowed {
		definitions[i] = catalog.Tool{Name: t.Name, Description: t.Description, Parameters: t.InputSchema}
	}
	tools := catalog.FromDefinitions(definitions, func(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error) {
		var arguments map[string]any
		if err := json.Unmarshal(input, &arguments); err != nil {
			return nil, err
		}
		r, err := caller.CallTool(ctx, name, arguments)
		if err != nil {
			return nil, err
		}
		return r.value()
	})
	r, err := outcome.Finish(ctx, s.Host, s.Session(ctx), tools, callTool+code)
	if err != nil {
		return nil, err
	}
	return &ExecuteResult{Value: string(r.Value), Console: outcome.Console(r)}, nil
}

// value is the first text of a result, as code gets it.
func (r *ToolCallResult) value() (json.RawMessage, error) {
	text := ""
	for _, c := range r.Content {
		if c.Text != "" {
			text = c.Text
			break
		}
	}
	if r.IsError {
		return nil, errors.New(text)
	}
	return outcome.TextValue(text)
}
