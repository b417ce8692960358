package host

import (
	"context"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
)

// offerOf is what the model is told of a view, and of the saved programs that a session
// may run in it.
func (vs *views) offerOf(s Session, v *view.View, rules policy.Layers) modeltools.Offer {
	return modeltools.Offer{Catalog: v.Catalog, Namespaces: v.Namespaces, MCP: func(room int) string { return view.MCPBlock(v, room) }, Programs: vs.offeredPrograms(s, rules)}
}

// offeredPrograms are the saved programs that the model is told of.
func (vs *views) offeredPrograms(s Session, rules policy.Layers) (out []modeltools.Program) {
	if vs.cfg.Programs.Store == nil {
		return nil
	}
	list, err := programs.Visible(context.Background(), vs.cfg.Programs.Store, s)
	if err != nil {
		vs.log.Error("saved programs cannot be read", "error", err)
		return nil
	}
	for _, p := range list {
		if rules.Allows(policy.Tool{Source: string(catalog.SourceQuoin), Owner: programs.Owner, Name: p.Name}) {
			out = append(out, modeltools.Program{Call: p.Call(), Description: p.Description})
		}
	}
	return out
}
