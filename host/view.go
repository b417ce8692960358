package host

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
)

// view is what cells can reach at one moment: the catalog and the namespaces it
// makes visible. It is immutable; a change of plugins makes a new one.
type view struct {
	catalog    *catalog.Catalog
	namespaces []namespaces.Registration
}

// namespace returns the visible namespace of that id.
func (v *view) namespace(id string) (*namespaces.Registration, bool) {
	for i := range v.namespaces {
		if v.namespaces[i].ID == id {
			return &v.namespaces[i], true
		}
	}
	return nil, false
}

// pluginsChanged keeps the old view when the new one cannot be made: the tools
// of a plugin that is gone then fail one by one, with its name.
func (h *Host) pluginsChanged() {
	h.viewMu.Lock()
	defer h.viewMu.Unlock()
	if h.plugins == nil {
		return // the first view is made once all of them have started
	}
	if err := h.refresh(); err != nil {
		h.log.Error("tools were not updated after a change of plugins", "error", err)
	}
}

// refresh makes the view anew of the embedder's tools and the live plugins.
// The caller holds viewMu.
func (h *Host) refresh() error {
	tools := append([]catalog.Tool(nil), h.cfg.Tools...)
	if h.plugins != nil {
		for _, t := range h.plugins.Tools() {
			tools = append(tools, h.pluginTool(t))
		}
		h.register(h.plugins.Registrations())
	}
	c, err := catalog.New(tools, catalog.Options{
		DefaultLimit: int(h.settings.SearchLimit),
		MaxLimit:     int(h.settings.MaxSearchLimit),
		Schemas:      h.schemas,
	})
	if err != nil {
		return err
	}
	h.view.Store(&view{catalog: c, namespaces: h.registry.Visible(c)})
	return nil
}

// register makes regs the registry's whole content, plugin by plugin. A plugin
// whose namespaces are refused loses all of them, with a line in the log.
func (h *Host) register(regs []namespaces.Registration) {
	byPlugin := make(map[string][]namespaces.Registration)
	for _, old := range h.registry.All() {
		byPlugin[old.PluginID] = nil
	}
	for _, r := range regs {
		byPlugin[r.PluginID] = append(byPlugin[r.PluginID], r)
	}
	for id, rs := range byPlugin {
		if err := h.registry.Replace(id, rs); err != nil {
			h.registry.Clear(id)
			h.log.Error("namespaces of a plugin were refused", "plugin", id, "error", err)
		}
	}
}

// pluginTool makes a catalog tool that calls the plugin's live process.
func (h *Host) pluginTool(t plugins.OwnedTool) catalog.Tool {
	examples := make([]catalog.Example, 0, len(t.Examples))
	for _, e := range t.Examples {
		examples = append(examples, catalog.Example{Description: e.Description, Input: e.Input, Output: e.Output})
	}
	return catalog.Tool{
		Name:        t.Name,
		Label:       t.Label,
		Description: t.Description,
		Source:      catalog.SourceQuoin,
		Owner:       t.PluginID,
		Parameters:  t.Parameters,
		Output:      t.Output,
		ReadOnly:    t.ReadOnly,
		Idempotent:  t.Idempotent,
		Examples:    examples,
		Invoke: func(ctx context.Context, c catalog.Invocation) (json.RawMessage, error) {
			return h.plugins.CallTool(ctx, t.PluginID, plugins.CallRequest{
				Tool:           t.Name,
				CallID:         c.ID,
				IdempotencyKey: c.IdempotencyKey,
				Run: namespaces.RunContext{
					AgentID:    c.Session.AgentID,
					SessionKey: c.Session.SessionKey,
					SessionID:  c.Session.SessionID,
					RunID:      c.RunID,
				},
				Input: c.Input,
			}, c.Progress)
		},
	}
}
