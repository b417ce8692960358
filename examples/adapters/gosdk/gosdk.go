// Package gosdk puts code mode in front of an MCP server of the official Go SDK: clients
// of the server that Wrap returns see exec and wait in place of its tools.
package gosdk

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	hostmcp "github.com/quoinhq/quoin/host/mcp"
)

// Wrapped is an MCP server with two tools. Close it when no client uses it any more.
type Wrapped struct {
	*mcp.Server
	Host *host.Host

	session func(context.Context, *mcp.CallToolRequest) host.Session
	stop    context.CancelFunc
	done    chan struct{}
}

// Wrap returns a server that lets its clients run programs over the tools of
// upstream, which programs call as MCP.<name>.<tool>(). Session returns the session
// of a request: its context reaches the handlers of upstream, too.
func Wrap(ctx context.Context, name string, upstream *mcp.Server, cfg host.Config, session func(context.Context, *mcp.CallToolRequest) host.Session) (*Wrapped, error) {
	cfg.MCP.Servers = append(cfg.MCP.Servers, hostmcp.Server{Name: name, InProcess: upstream})
	h, err := host.New(ctx, cfg)
	if err != nil {
		return nil, err
	}
	follow, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &Wrapped{
		Server: mcp.NewServer(&mcp.Implementation{Name: name + "-code", Version: host.Version}, nil),
		Host:   h, session: session, stop: stop, done: make(chan struct{}),
	}
	changed := h.ToolsChanged(follow)
	w.offer()
	go func() {
		defer close(w.done)
		for {
			select {
			case <-changed:
				w.offer()
			case <-follow.Done():
				return
			}
		}
	}()
	return w, nil
}

// offer adds exec and wait, or replaces them: they describe the tools of upstream.
func (w *Wrapped) offer() {
	exec, wait := w.Host.Catalog(host.Session{}).Definitions()
	for _, t := range []catalog.Tool{exec, wait} {
		w.AddTool(&mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters}, w.call)
	}
}

// call answers a call of exec or wait with what a model is to read.
func (w *Wrapped) call(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	turn, err := w.Host.ModelTools(ctx, w.session(ctx, r), nil, host.ModelToolsOptions{})
	if err != nil {
		return nil, err
	}
	for _, t := range turn.Visible {
		if t.Name != r.Params.Name {
			continue
		}
		answer, err := t.Invoke(ctx, catalog.Invocation{Input: r.Params.Arguments})
		if err != nil {
			return nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(answer)}}}, nil
	}
	return nil, fmt.Errorf("code mode is off for this request: it has no tool %q", r.Params.Name)
}

// Close ends the host. The server of upstream stays.
func (w *Wrapped) Close() error {
	w.stop()
	<-w.done
	return w.Host.Close()
}
