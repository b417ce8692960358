package configfile

import (
	"fmt"
	"os/exec"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/unused"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/plugins"
)

// UnusedSettings compares a configuration with the folders of the plugin directory and
// with its own MCP servers, without starting any of them. An empty directory means
// that the plugins are not known.
func (f *File) UnusedSettings(pluginDir string) ([]host.UnusedSetting, error) {
	inv := unused.Inventory{
		Owners: []policy.Tool{{Source: string(catalog.SourceQuoin), Owner: catalog.OwnerCore}, {Source: policy.ExecTool.Source, Owner: policy.ExecTool.Owner}},
		Open:   []policy.Tool{{Source: string(catalog.SourceQuoin), Owner: programs.Owner}},
	}
	if pluginDir != "" {
		found, err := plugins.Discover(pluginDir)
		if err != nil {
			return nil, err
		}
		inv.Plugins = []string{}
		for _, p := range found {
			inv.Plugins = append(inv.Plugins, p.ID())
			inv.Owners = append(inv.Owners, policy.Tool{Source: string(catalog.SourceQuoin), Owner: p.ID()})
		}
	}
	for _, s := range f.MCP {
		inv.Owners = append(inv.Owners, policy.Tool{Source: string(catalog.SourceMCP), Owner: s.Name})
	}
	c := f.Config()
	if inv.Plugins != nil {
		for _, b := range c.Plugins.Bundled { // they are next to the program, not in the directory
			inv.Plugins = append(inv.Plugins, b.ID)
		}
	}
	// Without the hooks: the hooks of the approvals' rules follow, with their places.
	out := inv.Settings(unused.References{Rules: c.Rules, PluginHooks: c.Plugins.Hooks,
		PluginConfig: c.Plugins.Config, PluginSecrets: c.Plugins.Secrets})
	for i, a := range f.approvals {
		out = append(out, inv.Patterns(fmt.Sprintf("approvals[%d].tools", i), a.tools)...)
	}
	return append(out, f.missingCommands()...), nil
}

// missingCommands returns the programs of MCP servers that this machine does not have.
func (f *File) missingCommands() (out []host.UnusedSetting) {
	for _, s := range f.MCP {
		if s.Command == "" || s.Disabled {
			continue
		}
		if _, err := exec.LookPath(s.Command); err != nil {
			out = append(out, host.UnusedSetting{Field: "mcp.servers." + s.Name + ".command", Value: s.Command, Problem: "is no program here: name one in PATH, or its path"})
		}
	}
	return out
}
