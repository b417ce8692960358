package host

import (
	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/runstore"
)

// engineViews is the host as its engine sees it: the source of what runs reach.
type engineViews struct{ h *Host }

func (v engineViews) AccessFor(s Session, in runs.Input) (*view.Access, *Error) {
	return v.h.accessFor(s, in)
}

func (v engineViews) RestoreAccess(s Session, rec *runstore.Record, tools *view.ClientTools) (*view.Access, error) {
	return v.h.restoreAccess(s, rec, tools)
}

func (v engineViews) ResolveView(to *view.Access) error { return v.h.resolveView(to) }

func (v engineViews) SessionView(s Session) *view.View { return v.h.sessionView(s) }

func (v engineViews) IsDown(owner string) bool { return v.h.isDown(owner) }

func (v engineViews) MCPStatus() []mcp.Status { return v.h.MCPStatus() }
