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

// engineViews is the host as its engine sees it: the source of what runs reach.
type engineViews struct{ h *Host }

// SessionView returns what a session reaches without tools of its own.
func (v engineViews) SessionView(s Session) *view.View { return v.h.sessionView(s) }

// MCPStatus reports the MCP servers for hints.
func (v engineViews) MCPStatus() []mcp.Status { return v.h.MCPStatus() }

// ComingPlugins reports the plugins that have offered nothing yet and are starting.
func (v engineViews) ComingPlugins() (ids []string) {
	for _, s := range v.h.Plugins() {
		if (s.State == plugins.StateStarting || s.State == plugins.StateRestarting) && len(s.Tools) == 0 && len(s.Namespaces) == 0 {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// Connecting returns the MCP servers that are being connected for the first time, with their
// identifiers.
func (v engineViews) Connecting() map[string]string { return v.h.connecting() }

// Tried waits until an MCP server was tried once, or ctx ends.
func (v engineViews) Tried(ctx context.Context, server string) error {
	return v.h.mcp.Tried(ctx, server)
}

// ResolveView resolves the view of an access from the tools that exist now.
func (v engineViews) ResolveView(to *view.Access) error { return to.Resolve(v.h.view.Load()) }

// AccessFor checks what a caller gave to Exec and resolves the first view.
func (v engineViews) AccessFor(s Session, in run.Input) (*view.Access, *Error) {
	client := in.Request
	if client == nil {
		var f *Error
		if client, f = view.NewClientTools(in.Tools); f != nil {
			return nil, f
		}
	}
	if n := len(in.Rules.Allow) + len(in.Rules.Deny); n > maxRunPatterns {
		return nil, codemode.Errorf(CodeInvalidInput, ReasonInvalidConfig, PhaseInput, "the rules of this run have %d patterns, at most %d are taken: use * in patterns, or owner:NAME for all tools of an owner.", n, maxRunPatterns)
	}
	return view.NewAccess(v.h.view.Load(), v.h.policy, s, in.Rules, client)
}

// maxRunPatterns bounds the patterns that a caller gives for one run: each is compared
// with every tool.
const maxRunPatterns = 256

// RestoreAccess is AccessFor for a run of a record.
func (v engineViews) RestoreAccess(s Session, rec *runstore.Record, tools *view.ClientTools) (*view.Access, error) {
	return view.RestoreAccess(v.h.view.Load(), v.h.policy, s, rec, tools)
}

// IsDown reports whether this host has the plugin or the MCP server, without its
// tools.
func (v engineViews) IsDown(owner string) bool {
	if server, ok := strings.CutPrefix(owner, run.OfServers); ok {
		return slices.ContainsFunc(v.h.MCPStatus(), func(s mcp.Status) bool { return s.Name == server && s.State != mcp.StateConnected })
	}
	plugin := strings.TrimPrefix(owner, run.OfPlugins)
	return slices.ContainsFunc(v.h.Plugins(), func(s plugins.Status) bool { return v.h.ownerOf(s.ID) == plugin && s.State != plugins.StateRunning })
}
