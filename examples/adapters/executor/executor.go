// Package executor runs Quoin where a gateway lists tools and runs scripts over them, in
// the shape of ToolHive's script.Executor (github.com/stacklok/toolhive/pkg/script). That
// module needs a newer Go than this one, so its interface is written down here; the
// methods and fields are the same, and so are the types of mcp-go.
package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/quoinhq/quoin/examples/adapters/internal/outcome"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// Executor is script.Executor of ToolHive.
type Executor interface {
	Execute(ctx context.Context, script string, data map[string]any) (*mcp.CallToolResult, error)
	ToolDescription() string
}

// Tool is script.Tool of ToolHive. Call enforces what the gateway allows.
type Tool struct {
	Name, Description string
	Call              func(ctx context.Context, arguments map[string]any) (*mcp.CallToolResult, error)
}

// New returns an Executor over the tools of one request. Session returns the session of
// the scripts, from the context of the request.
func New(h *host.Host, session func(context.Context) host.Session, tools []Tool) Executor {
	e := &executor{host: h, session: session}
	for _, t := range tools {
		e.tools = append(e.tools, catalog.Tool{Name: t.Name, Description: t.Description, Invoke: t.invoke})
	}
	return e
}

// invoke calls the tool. The context has the values of the request and ends with it.
func (t Tool) invoke(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
	var arguments map[string]any
	if err := json.Unmarshal(c.Input, &arguments); err != nil {
		return nil, err
	}
	r, err := t.Call(ctx, arguments)
	if err != nil {
		return nil, err
	}
	return outcome.Value(r)
}

type executor struct {
	host    *host.Host
	session func(context.Context) host.Session
	tools   []catalog.Tool
}

// Execute runs a script to its end. Each member of data is a variable of the script.
func (e *executor) Execute(ctx context.Context, script string, data map[string]any) (*mcp.CallToolResult, error) {
	variables, err := declare(data)
	if err != nil {
		return nil, err
	}
	r, err := outcome.Finish(ctx, e.host, e.session(ctx), e.tools, variables+script)
	if err != nil {
		return nil, err
	}
	result := mcp.NewToolResultText(string(r.Value))
	if console := outcome.Console(r); len(console) > 0 {
		result.Content = append(result.Content, mcp.NewTextContent("Script logs:\n"+strings.Join(console, "\n")))
	}
	return result, nil
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// declare returns the declarations of variables, on the line that the script starts on.
func declare(data map[string]any) (string, error) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(data)) {
		value, err := json.Marshal(data[name])
		if err != nil || !identifier.MatchString(name) {
			return "", fmt.Errorf("data argument %q is no variable: %v", name, err)
		}
		fmt.Fprintf(&b, "const %s = %s; ", name, value)
	}
	return b.String(), nil
}

// ToolDescription is what a model reads of the one tool that it sees.
func (e *executor) ToolDescription() string {
	ctx := context.Background()
	turn, err := e.host.ModelTools(ctx, e.session(ctx), e.tools, host.ModelToolsOptions{})
	if err != nil || !turn.Active {
		exec, _ := e.host.Catalog(e.session(ctx)).Definitions()
		return exec.Description
	}
	return turn.Visible[0].Description
}
