package host

import (
	"context"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins"
)

// MCPStatus reports the MCP servers for hints.
func (vs *views) MCPStatus() []mcp.Status {
	if vs.mcp == nil {
		return nil
	}
	return vs.mcp.Status()
}

// ComingPlugins reports the plugins that have offered nothing yet and are starting.
func (vs *views) ComingPlugins() (ids []string) {
	for _, s := range vs.pluginList() {
		if (s.State == plugins.StateStarting || s.State == plugins.StateRestarting) && len(s.Tools) == 0 && len(s.Namespaces) == 0 {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// Tried waits until an MCP server was tried once, or ctx ends.
func (vs *views) Tried(ctx context.Context, server string) error {
	return vs.mcp.Tried(ctx, server)
}

// ResolveView resolves the view of an access from the tools that exist now.
func (vs *views) ResolveView(to *view.Access) error { return to.Resolve(vs.view.Load()) }

// AccessFor checks what a caller gave to Exec and resolves the first view.
func (vs *views) AccessFor(s Session, in run.Input) (*view.Access, *Error) {
	client := in.Request
	if client == nil {
		var f *Error
		if client, f = view.NewClientTools(in.Tools); f != nil {
			return nil, f
		}
	}
	if n := len(in.Rules.Allow) + len(in.Rules.Deny); n > maxRunPatterns {
		return nil, codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput, "the rules of this run have %d patterns, at most %d are taken: use * in patterns, or owner:NAME for all tools of an owner.", n, maxRunPatterns)
	}
	return view.NewAccess(vs.view.Load(), vs.policy, s, in.Rules, client)
}

// maxRunPatterns bounds the patterns that a caller gives for one run: each is compared
// with every tool.
const maxRunPatterns = 256

// RestoreAccess is AccessFor for a run of a record.
func (vs *views) RestoreAccess(s Session, rec *runstore.Record, tools *view.ClientTools) (*view.Access, error) {
	return view.RestoreAccess(vs.view.Load(), vs.policy, s, rec, tools)
}

// IsDown reports whether this host has the plugin or the MCP server, without its
// tools.
func (vs *views) IsDown(owner string) bool {
	if server, ok := strings.CutPrefix(owner, run.OfServers); ok {
		return slices.ContainsFunc(vs.MCPStatus(), func(s mcp.Status) bool { return s.Name == server && s.State != mcp.StateConnected })
	}
	plugin := strings.TrimPrefix(owner, run.OfPlugins)
	return slices.ContainsFunc(vs.pluginList(), func(s plugins.Status) bool { return vs.ownerOf(s.ID) == plugin && s.State != plugins.StateRunning })
}
