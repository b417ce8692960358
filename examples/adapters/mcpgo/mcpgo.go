// Package mcpgo puts code mode in front of a server of mark3labs/mcp-go: clients of the
// server that Wrap returns see exec and wait in place of its tools.
package mcpgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/quoinhq/quoin/examples/adapters/internal/outcome"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// Wrap returns a server that lets its clients run programs over the tools of upstream.
// Each request lists and calls them as a client of upstream would, with its own
// context: so filters, middleware and hooks of upstream hold for each call. Session
// returns the session of a request.
func Wrap(ctx context.Context, h *host.Host, upstream *server.MCPServer, session func(context.Context) host.Session) (*server.MCPServer, error) {
	w := &wrapped{host: h, upstream: upstream, session: session}
	turn, err := w.turn(ctx)
	if err != nil {
		return nil, err
	}
	s := server.NewMCPServer("code-mode", host.Version, server.WithToolCapabilities(false))
	for _, t := range turn.Visible {
		s.AddTool(mcp.NewToolWithRawSchema(t.Name, t.Description, t.Parameters), w.call)
	}
	return s, nil
}

type wrapped struct {
	host     *host.Host
	upstream *server.MCPServer
	session  func(context.Context) host.Session
}

// turn is what a model is shown in one request.
func (w *wrapped) turn(ctx context.Context) (*host.ModelTools, error) {
	tools, err := w.tools(ctx)
	if err != nil {
		return nil, err
	}
	turn, err := w.host.ModelTools(ctx, w.session(ctx), tools, host.ModelToolsOptions{})
	if err == nil && !turn.Active {
		err = errors.New("code mode is off for this request: it has no tools, or the settings of the host leave them as they are")
	}
	return turn, err
}

// call answers a call of exec or wait with what a model is to read.
func (w *wrapped) call(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	turn, err := w.turn(ctx)
	if err != nil {
		return nil, err
	}
	input, err := json.Marshal(r.Params.Arguments)
	if err != nil {
		return nil, err
	}
	for _, t := range turn.Visible {
		if t.Name == r.Params.Name {
			answer, err := t.Invoke(ctx, catalog.Invocation{Input: input})
			return mcp.NewToolResultText(string(answer)), err
		}
	}
	return nil, fmt.Errorf("there is no tool %q", r.Params.Name)
}

// tools lists the tools that upstream shows to this request.
func (w *wrapped) tools(ctx context.Context) ([]catalog.Tool, error) {
	var definitions []catalog.Tool
	for cursor := ""; ; {
		var page struct {
			Tools []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Input       json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
			Next string `json:"nextCursor"`
		}
		if err := w.request(ctx, "tools/list", map[string]any{"cursor": cursor}, &page); err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			definitions = append(definitions, catalog.Tool{Name: t.Name, Description: t.Description, Parameters: t.Input})
		}
		if cursor = page.Next; cursor == "" {
			return catalog.FromDefinitions(definitions, w.callTool), nil
		}
	}
}

// callTool calls one tool of upstream, for a program.
func (w *wrapped) callTool(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error) {
	var r mcp.CallToolResult
	if err := w.request(ctx, "tools/call", map[string]any{"name": name, "arguments": input}, &r); err != nil {
		return nil, err
	}
	return outcome.Value(&r)
}

// request has upstream handle a request, and reads its result.
func (w *wrapped) request(ctx context.Context, method string, params map[string]any, result any) error {
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	switch answer := w.upstream.HandleMessage(ctx, message).(type) {
	case mcp.JSONRPCResponse:
		text, err := json.Marshal(answer.Result)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, result)
	case mcp.JSONRPCError:
		return errors.New(answer.Error.Message)
	default:
		return fmt.Errorf("%s has the answer %T", method, answer)
	}
}
