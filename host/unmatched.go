package host

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/plugins"
)

// Unmatched is a part of a configuration that is about nothing there is: most
// likely a name is misspelt, and a rule does not hold that somebody relies on.
type Unmatched struct {
	Field string `json:"field"` // such as tools.deny[0]
	Value string `json:"value"` // the pattern, or the id of a plugin
	// Nearest is what may have been meant; empty if nothing is near.
	Nearest string `json:"nearest,omitempty"`
	Problem string `json:"problem"` // in a few words, after the value
}

// String is the whole in a sentence.
func (u Unmatched) String() string {
	text := fmt.Sprintf("%s: %q %s", u.Field, u.Value, u.Problem)
	if u.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", u.Nearest)
	}
	return text
}

// inventory is what configurations are compared with.
type inventory struct {
	tools   []policy.Tool // nil: not known
	owners  []policy.Tool // without names: who has tools, or may have some later
	absent  []policy.Tool // of owners: those whose tools are not known now
	plugins []string      // ids; nil: not known
}

// Unmatched compares the rules, the approvals and the entries for plugins of the
// host's configuration with the tools and plugins there are at this moment. Tools
// that callers bring are not known; of servers and plugins that are down, whatever
// names them counts as matched.
func (h *Host) Unmatched() []Unmatched {
	inv := inventory{owners: []policy.Tool{{Source: string(catalog.SourceQuoin), Owner: catalog.OwnerCore}}}
	for _, t := range h.view.Load().catalog.Tools() {
		inv.tools = append(inv.tools, subject(t))
		inv.owners = append(inv.owners, policy.Tool{Source: string(t.Source), Owner: t.Owner})
	}
	if inv.tools != nil {
		inv.tools = append(inv.tools, policy.ExecTool)
	}
	inv.plugins = []string{}
	for _, p := range h.Plugins() {
		inv.plugins = append(inv.plugins, p.ID)
		owner := policy.Tool{Source: string(catalog.SourceQuoin), Owner: p.ID}
		inv.owners = append(inv.owners, owner)
		if p.State != plugins.StateRunning {
			inv.absent = append(inv.absent, owner)
		}
	}
	for _, s := range h.MCPStatus() {
		owner := policy.Tool{Source: string(catalog.SourceMCP), Owner: s.Name}
		inv.owners = append(inv.owners, owner)
		if s.State != mcp.StateConnected {
			inv.absent = append(inv.absent, owner)
		}
	}
	return inv.unmatched(&h.cfg)
}

// Unmatched compares a configuration with the folders of the plugin directory and
// with its own MCP servers, without starting any of them. An empty directory means
// that the plugins are not known.
func (f *File) Unmatched(pluginDir string) ([]Unmatched, error) {
	inv := inventory{owners: []policy.Tool{{Source: string(catalog.SourceQuoin), Owner: catalog.OwnerCore},
		{Source: policy.ExecTool.Source, Owner: policy.ExecTool.Owner}}}
	if pluginDir != "" {
		found, err := plugins.Discover(pluginDir)
		if err != nil {
			return nil, err
		}
		inv.plugins = []string{}
		for _, p := range found {
			inv.plugins = append(inv.plugins, p.ID())
			inv.owners = append(inv.owners, policy.Tool{Source: string(catalog.SourceQuoin), Owner: p.ID()})
		}
	}
	for _, s := range f.MCP {
		inv.owners = append(inv.owners, policy.Tool{Source: string(catalog.SourceMCP), Owner: s.Name})
	}
	cfg := f.Config()
	cfg.Hooks = nil // of rules, whose places are known here
	out := inv.unmatched(&cfg)
	for i, a := range f.approvals {
		out = append(out, inv.patterns(fmt.Sprintf("approvals[%d].tools", i), a.tools)...)
	}
	return append(out, f.missingCommands()...), nil
}

// missingCommands are the programs of MCP servers that this machine has not.
func (f *File) missingCommands() (out []Unmatched) {
	for _, s := range f.MCP {
		if s.Command == "" || s.Disabled {
			continue
		}
		if _, err := exec.LookPath(s.Command); err != nil {
			out = append(out, Unmatched{Field: "mcp.servers." + s.Name + ".command", Value: s.Command, Problem: "is no program here: name one in PATH, or its path"})
		}
	}
	return out
}

func (inv *inventory) unmatched(c *Config) []Unmatched {
	out := []Unmatched{}
	patterns := func(field string, list []string) { out = append(out, inv.patterns(field, list)...) }
	rules := func(field string, r policy.Rules) {
		patterns(field+"allow", r.Allow)
		patterns(field+"deny", r.Deny)
	}
	rules("tools.", c.Rules.Rules)
	for _, id := range slices.Sorted(maps.Keys(c.Rules.Agents)) {
		rules("agents."+id+".tools.", c.Rules.Agents[id])
	}
	for _, key := range slices.Sorted(maps.Keys(c.Rules.Sessions)) {
		rules("sessions."+key+".", c.Rules.Sessions[key])
	}
	for _, h := range c.Hooks {
		patterns("hook "+strconv.Quote(h.Name)+" tools", h.Tools)
	}
	for _, id := range slices.Sorted(maps.Keys(c.PluginHooks)) {
		patterns("plugins.hooks."+id, c.PluginHooks[id])
	}
	return append(out, inv.unknownPlugins(c)...)
}

// patterns are those of a list that are about nothing.
func (inv *inventory) patterns(field string, list []string) (out []Unmatched) {
	for i, text := range list {
		if u, ok := inv.pattern(text); !ok {
			u.Field = fmt.Sprintf("%s[%d]", field, i)
			out = append(out, u)
		}
	}
	return out
}

// pattern reports whether a pattern is about something, as far as is known.
func (inv *inventory) pattern(text string) (u Unmatched, ok bool) {
	b, ok := policy.BearingOf(text)
	switch {
	case !ok, text == "*", strings.HasPrefix(text, "client:"), text == "source:client":
		return u, true // what means nothing is an error elsewhere
	case slices.ContainsFunc(inv.tools, b.Match):
		return u, true
	}
	owns := func(t policy.Tool) bool { return b.Owns(t.Source, t.Owner) }
	switch {
	case b.NamesOwner() && slices.ContainsFunc(inv.absent, owns):
		return u, true
	case b.NamesOwner() && !slices.ContainsFunc(inv.owners, owns):
		if inv.plugins == nil && !strings.HasPrefix(text, "mcp:") {
			return u, true
		}
		return Unmatched{Value: text, Problem: "is about an owner of tools that there is none of", Nearest: inv.nearest(text)}, false
	case inv.tools == nil:
		return u, true
	}
	problem := "matches no tool that there is now"
	if len(inv.absent) > 0 {
		problem += fmt.Sprintf(" (%d plugins or MCP servers are not running)", len(inv.absent))
	}
	return Unmatched{Value: text, Problem: problem, Nearest: inv.nearest(text)}, false
}

// nearest returns the pattern of a tool or an owner that may have been meant.
func (inv *inventory) nearest(given string) string {
	known := map[string]bool{}
	add := func(pattern string) {
		known[pattern] = true
		if cut := strings.LastIndexAny(pattern, "_-.:"); strings.HasSuffix(given, "*") && cut > 0 {
			known[pattern[:cut+1]+"*"] = true
		}
	}
	for _, t := range inv.tools {
		if strings.Contains(given, ":") {
			add(t.Source + ":" + t.Owner + ":" + t.Name)
		} else {
			add(t.Name)
		}
	}
	for _, t := range inv.owners {
		add("owner:" + t.Owner)
		add(t.Source + ":" + t.Owner + ":*")
	}
	if found := text.Nearest(given, slices.Sorted(maps.Keys(known)), 1); len(found) > 0 {
		return found[0]
	}
	return ""
}

// unknownPlugins are entries for plugins that there are none of.
func (inv *inventory) unknownPlugins(c *Config) (out []Unmatched) {
	if inv.plugins == nil {
		return nil
	}
	check := func(field, id string) {
		if slices.Contains(inv.plugins, id) {
			return
		}
		u := Unmatched{Field: field + id, Value: id, Problem: "is no plugin of the plugin directory"}
		if near := text.Nearest(id, inv.plugins, 1); len(near) > 0 {
			u.Nearest = near[0]
		}
		out = append(out, u)
	}
	for _, id := range slices.Sorted(maps.Keys(c.PluginConfig)) {
		check("plugins.config.", id)
	}
	for _, id := range slices.Sorted(maps.Keys(c.PluginSecrets)) {
		check("plugins.secrets.", id)
	}
	for _, id := range slices.Sorted(maps.Keys(c.PluginHooks)) {
		check("plugins.hooks.", id)
	}
	return out
}

// warnUnmatched writes into the log what the configuration says in vain.
func (h *Host) warnUnmatched() {
	for _, u := range h.Unmatched() {
		args := []any{"field", u.Field, "value", u.Value, "problem", u.Problem}
		if u.Nearest != "" {
			args = append(args, "nearest", u.Nearest)
		}
		h.log.Warn("a part of the configuration is about nothing there is", args...)
	}
}
