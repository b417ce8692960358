package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
)

// ownerOf is the owner of what a plugin brings.
func (vs *views) ownerOf(pluginID string) string {
	if vs.cfg.Plugins.isBundled(pluginID) {
		return catalog.OwnerCore
	}
	return pluginID
}

// ownsTool reports whether a plugin has brought a tool. A bundled one owns only what it
// offers of the tools of "core".
func (vs *views) ownsTool(pluginID string, offered []plugins.OwnedTool, owner, name string) bool {
	if owner != vs.ownerOf(pluginID) {
		return false
	}
	return !vs.cfg.Plugins.isBundled(pluginID) || slices.ContainsFunc(offered, func(t plugins.OwnedTool) bool { return t.Name == name })
}

// asCore makes the owner "core" the owner of a bundled plugin's namespaces. Their functions
// get the plugin's configuration.
func (vs *views) asCore(pluginID string, regs []namespaces.Registration) []namespaces.Registration {
	config := vs.cfg.Plugins.Config[pluginID]
	out := slices.Clone(regs)
	for i := range out {
		r := &out[i]
		r.PluginID = catalog.OwnerCore
		if create := r.CreateScope; create != nil {
			r.CreateScope = func(ctx context.Context, rc namespaces.RunContext) (any, error) {
				rc.Config = config
				return create(ctx, rc)
			}
		}
		if mapInput := r.MapInput; mapInput != nil {
			r.MapInput = func(ctx context.Context, rc namespaces.RunContext, mapper string, args []json.RawMessage) (json.RawMessage, error) {
				rc.Config = config
				return mapInput(ctx, rc, mapper, args)
			}
		}
	}
	return out
}

// checkBundledTools refuses tools of the embedder that have the id of a bundled plugin's.
func (vs *views) checkBundledTools(tools []catalog.Tool) error {
	if vs.plugins == nil || len(vs.cfg.Plugins.Bundled) == 0 {
		return nil
	}
	for _, o := range vs.plugins.Offers() {
		if !vs.cfg.Plugins.isBundled(o.PluginID) {
			continue
		}
		for _, own := range tools {
			own = own.WithDefaults()
			if own.Source == catalog.SourceQuoin && vs.ownsTool(o.PluginID, o.Tools, own.Owner, own.Name) {
				return fmt.Errorf("tool %s is also one of the bundled plugin %s: name yours otherwise, give it another Owner, or leave the plugin out of Config.Plugins.Bundled", own.ID(), o.PluginID)
			}
		}
	}
	return nil
}

// requestTools are the tools that come with a request.
func (vs *views) requestTools(tools []catalog.Tool) (*view.ClientTools, *Error) {
	if err := vs.checkBundledTools(tools); err != nil {
		return nil, view.RequestFailure("%v", err)
	}
	return view.NewRequestTools(tools, vs.owners)
}
