package host

import (
	"context"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
)

// offerOf is what the model is told of a view, and of the saved programs that a session
// may run in it.
func (h *Host) offerOf(s Session, v *view.View, rules policy.Layers) modeltools.Offer {
	return modeltools.Offer{Catalog: v.Catalog, Namespaces: v.Namespaces, MCP: func(room int) string { return view.MCPBlock(v, room) }, Programs: h.offeredPrograms(s, rules)}
}

// offeredPrograms are the saved programs that the model is told of.
func (h *Host) offeredPrograms(s Session, rules policy.Layers) (out []modeltools.Program) {
	if h.cfg.Programs.Store == nil {
		return nil
	}
	list, err := programs.Visible(context.Background(), h.cfg.Programs.Store, s)
	if err != nil {
		h.log.Error("saved programs cannot be read", "error", err)
		return nil
	}
	for _, p := range list {
		if rules.Allows(policy.Tool{Source: string(catalog.SourceQuoin), Owner: programs.Owner, Name: p.Name}) {
			out = append(out, modeltools.Program{Call: p.Call(), Description: p.Description})
		}
	}
	return out
}

// Definitions returns exec and wait as a model of the session is to be shown them
// when there are no other tools than the host's: for servers that offer code mode
// itself. Their Invoke is nil. Gateways that have tools of a request use ModelTools.
func (h *Host) Definitions(s Session) (exec, wait catalog.Tool) {
	return modeltools.Definitions(h.offerOf(s, h.sessionView(s), h.policy.For(s.AgentID, s.SessionKey)), h.settingsOf(s))
}

// Offered reports whether models of that id get code mode in the session: whether its
// settings enable it, for that model if they name it. For a model that is set to
// ActivationAuto the host's tools count, by what they cost. Model may be empty.
func (h *Host) Offered(s Session, model string) bool {
	settings, v := h.settingsOf(s), h.sessionView(s)
	exec, wait := modeltools.Definitions(h.offerOf(s, v, h.policy.For(s.AgentID, s.SessionKey)), settings)
	cost := promptTokens(v, exec, wait)
	cost.Tools = max(cost.Tools, 1) // a request may bring tools that the host does not have
	return settings.ActiveFor(model, cost)
}

// promptTokens estimates what a model request costs that could call the tools of a view.
func promptTokens(v *view.View, exec, wait catalog.Tool) codemode.PromptTokens {
	cost := codemode.PromptTokens{CodeMode: modeltools.EstimateTokens(&exec) + modeltools.EstimateTokens(&wait)}
	for _, t := range v.Catalog.Tools() {
		cost.Tools += modeltools.EstimateTokens(t)
	}
	return cost
}
