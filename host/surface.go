package host

import (
	"context"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/plugins"
)

// ReloadPlugin brings a plugin in line with its folder as it is now; see
// [plugins.Supervisor.Reload]. When it returns, programs that start have what the
// plugin offers now.
func (h *Host) ReloadPlugin(ctx context.Context, id string) error {
	if h.plugins == nil {
		return ErrNoPlugins
	}
	return h.plugins.Reload(ctx, id)
}

// Tools returns the entries of the tools that Config.Rules leave to a session, in
// catalog order. For the zero Session these are the tools that everyone has.
func (h *Host) Tools(s Session) []catalog.Entry { return h.sessionView(s).Entries() }

// ToolOf describes a tool of Tools by its exact id. Its error is a *catalog.Error.
func (h *Host) ToolOf(s Session, id string) (*catalog.Description, error) {
	return h.sessionView(s).Catalog.DescribeID(id)
}

// Namespace is a namespace that cells can use now.
type Namespace struct {
	ID          string `json:"id"`
	GlobalName  string `json:"globalName"`
	PluginID    string `json:"pluginId"`
	Description string `json:"description"`
	Prompt      string `json:"prompt,omitempty"`
}

// Namespaces returns the namespaces that are visible to a session with the tools of
// Tools, ordered by id.
func (h *Host) Namespaces(s Session) []Namespace {
	var out []Namespace
	for _, r := range h.sessionView(s).Namespaces {
		out = append(out, Namespace{r.ID, r.GlobalName, r.PluginID, r.Description, r.Prompt})
	}
	return out
}

// Plugins reports every plugin of the plugin directory and every bundled one, also those that could
// not be started. A plugin that runs has no Namespaces and a Reason if this host refuses its
// namespaces.
func (h *Host) Plugins() []plugins.Status {
	if h.plugins == nil {
		return nil
	}
	list := h.plugins.Plugins()
	v := h.view.Load()
	for i := range list {
		if s := &list[i]; v != nil && v.Refused[s.ID] != nil && s.Reason == "" {
			s.Namespaces, s.Reason = nil, v.Refused[s.ID].Error()
		}
	}
	return list
}

// PluginDir is Config.Plugins.Dir.
func (h *Host) PluginDir() string { return h.cfg.Plugins.Dir }
