package host

import (
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/modeltools"
)

// offerOf is what the model is told of a view.
func offerOf(v *view.View) modeltools.Offer {
	return modeltools.Offer{Catalog: v.Catalog, Namespaces: v.Namespaces, MCP: view.MCPBlock(v)}
}

// Definitions returns exec and wait as a model of the session is to be shown them
// when there are no other tools than the host's: for servers that offer code mode
// itself. Their Invoke is nil. Gateways that have tools of a request use ModelTools.
func (h *Host) Definitions(s Session) (exec, wait catalog.Tool) {
	return modeltools.Definitions(offerOf(h.sessionView(s)), h.settingsOf(s))
}

// Offered reports whether models of that id get code mode in the session: whether its
// settings enable it, for that model if they name it. For a model that is set to
// ActivationAuto the host's tools count. Model may be empty.
func (h *Host) Offered(s Session, model string) bool {
	// A request may bring tools that the host does not have.
	tools := max(h.sessionView(s).Catalog.Len(), 1)
	return h.settingsOf(s).ActiveFor(model, tools)
}
