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
	if h.plugins == nil || h.cfg.Plugins.Dir == "" {
		return nil, ErrNoPlugins
	}
	return h.plugins.Override(ctx, f.ID(), f)
}
