package host

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/plugins"
)

// ErrNoPlugins is the cause of what a host without a plugin directory cannot do.
var ErrNoPlugins = errors.New("this host has no plugin directory")

// Develop puts the plugin that was found in a folder in the place of the one that
// is installed under its id, if there is one, until undo is called. Cells see its
// tools and namespaces from the moment Develop returns. The folder is trusted as
// it is: no lock and no checksum counts. Develop for an id that is being developed
// already replaces that by a new generation, and the undo of the earlier one then
// does nothing. See plugins.Supervisor.Override.
func (h *Host) Develop(ctx context.Context, f plugins.Candidate) (undo func(context.Context) error, err error) {
	if h.views.plugins == nil || h.cfg.Plugins.Dir == "" {
		return nil, ErrNoPlugins
	}
	return h.views.plugins.Override(ctx, f.ID(), f)
}

// ReloadPlugin brings a plugin in line with its folder as it is now; see
// [plugins.Supervisor.Reload]. When it returns, programs that start have what the
// plugin offers now.
func (h *Host) ReloadPlugin(ctx context.Context, id string) error {
	if h.views.plugins == nil {
		return ErrNoPlugins
	}
	return h.views.plugins.Reload(ctx, id)
}

// Plugins reports every plugin of the plugin directory and every bundled one, also those that could
// not be started. A plugin that runs has no Namespaces and a Reason if this host refuses its
// namespaces.
func (h *Host) Plugins() []plugins.Status { return h.views.pluginList() }

func (vs *views) pluginList() []plugins.Status {
	if vs.plugins == nil {
		return nil
	}
	list := vs.plugins.Plugins()
	v := vs.view.Load()
	for i := range list {
		if s := &list[i]; v != nil && v.Refused[s.ID] != nil && s.Reason == "" {
			s.Namespaces, s.Reason = nil, v.Refused[s.ID].Error()
		}
	}
	return list
}
