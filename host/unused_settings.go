package host

import (
	"log/slog"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/unused"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/plugins"
)

// UnusedSetting is a setting that names a tool, a plugin or a server that does not
// exist.
type UnusedSetting = unused.Setting

// UnusedSettings compares the rules, the approvals and the entries for plugins of the
// host's configuration with the tools and plugins that exist at this moment. The host
// does not know the tools that callers bring. A setting that names a server or plugin
// that is down counts as used.
func (h *Host) UnusedSettings() []UnusedSetting {
	inv := unused.Inventory{
		Owners: []policy.Tool{{Source: string(catalog.SourceQuoin), Owner: catalog.OwnerCore}},
		Open:   []policy.Tool{{Source: string(catalog.SourceQuoin), Owner: programs.Owner}},
	}
	for _, t := range h.views.view.Load().Catalog.Tools() {
		inv.Tools = append(inv.Tools, view.Subject(t))
		inv.Owners = append(inv.Owners, policy.Tool{Source: string(t.Source), Owner: t.Owner})
	}
	if inv.Tools != nil {
		inv.Tools = append(inv.Tools, policy.ExecTool, view.Subject(&pipeline.SaveTool))
	}
	inv.Plugins = []string{}
	for _, p := range h.Plugins() {
		inv.Plugins = append(inv.Plugins, p.ID)
		owner := policy.Tool{Source: string(catalog.SourceQuoin), Owner: h.views.ownerOf(p.ID)}
		inv.Owners = append(inv.Owners, owner)
		if p.State != plugins.StateRunning {
			inv.Absent = append(inv.Absent, owner)
		}
	}
	for _, s := range h.MCPStatus() {
		owner := policy.Tool{Source: string(catalog.SourceMCP), Owner: s.Name}
		inv.Owners = append(inv.Owners, owner)
		if s.State != mcp.StateConnected {
			inv.Absent = append(inv.Absent, owner)
		}
	}
	c := &h.cfg
	return inv.Settings(unused.References{Rules: c.Rules, Hooks: c.Hooks, PluginHooks: c.Plugins.Hooks,
		PluginConfig: c.Plugins.Config, PluginSecrets: c.Plugins.Secrets})
}

// warnUnusedSettings logs the settings that have no effect.
func warnUnusedSettings(log *slog.Logger, list []UnusedSetting) {
	for _, u := range list {
		args := []any{"field", u.Field, "value", u.Value, "problem", u.Problem}
		if u.Nearest != "" {
			args = append(args, "nearest", u.Nearest)
		}
		log.Warn("a setting names something that does not exist", args...)
	}
}
