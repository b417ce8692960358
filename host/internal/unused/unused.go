// Package unused finds the settings of a configuration that name tools, plugins or
// servers that do not exist: a misspelt name makes a rule match nothing.
package unused

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/plugins"
)

// Setting is a setting that names something that does not exist. Most likely the
// name is misspelt, and the rule that you rely on does not hold.
type Setting struct {
	Field string `json:"field"` // such as tools.deny[0]
	Value string `json:"value"` // the pattern, or the id of a plugin
	// Nearest is what may have been meant; empty if nothing is near.
	Nearest string `json:"nearest,omitempty"`
	Problem string `json:"problem"` // in a few words, after the value
}

// String is the whole in a sentence.
func (u Setting) String() string {
	text := fmt.Sprintf("%s: %q %s", u.Field, u.Value, u.Problem)
	if u.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", u.Nearest)
	}
	return text
}

// Inventory is what exists and is known to the caller.
type Inventory struct {
	Tools   []policy.Tool // nil: not known
	Owners  []policy.Tool // without names: plugins and servers that have tools, or may have some later
	Absent  []policy.Tool // the owners with tools that are not known now
	Open    []policy.Tool // the owners with tools of sessions, which come and go
	Plugins []string      // ids; nil: not known
}

// References are the settings that name tools, plugins or servers.
type References struct {
	Rules         policy.Scopes
	Hooks         []policy.Hook
	PluginHooks   map[string][]string // by plugin id, as the next two
	PluginConfig  map[string]json.RawMessage
	PluginSecrets map[string]map[string]plugins.SecretSource
}

// Settings returns the references to what the inventory does not have.
func (inv *Inventory) Settings(c References) []Setting {
	out := []Setting{}
	patterns := func(field string, list []string) { out = append(out, inv.Patterns(field, list)...) }
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

// Patterns returns the patterns of a list that match nothing.
func (inv *Inventory) Patterns(field string, list []string) (out []Setting) {
	for i, text := range list {
		if u, ok := inv.pattern(text); !ok {
			u.Field = fmt.Sprintf("%s[%d]", field, i)
			out = append(out, u)
		}
	}
	return out
}

// pattern reports whether a pattern can match something, by what is known.
func (inv *Inventory) pattern(text string) (u Setting, ok bool) {
	b, ok := policy.ParsePatternScope(text)
	switch {
	case !ok, text == "*", strings.HasPrefix(text, "client:"), text == "source:client":
		return u, true // what means nothing is an error elsewhere
	case slices.ContainsFunc(inv.Tools, b.Match):
		return u, true
	}
	owns := func(t policy.Tool) bool { return b.Owns(t.Source, t.Owner) }
	switch {
	case b.NamesOwner() && (slices.ContainsFunc(inv.Absent, owns) || slices.ContainsFunc(inv.Open, owns)):
		return u, true
	case b.NamesOwner() && !slices.ContainsFunc(inv.Owners, owns):
		if inv.Plugins == nil && !strings.HasPrefix(text, "mcp:") {
			return u, true
		}
		return Setting{Value: text, Problem: "names an owner of tools that does not exist here", Nearest: inv.nearest(text)}, false
	case inv.Tools == nil:
		return u, true
	}
	problem := "matches no tool that there is now"
	if len(inv.Absent) > 0 {
		problem += fmt.Sprintf(" (%d plugins or MCP servers are not running)", len(inv.Absent))
	}
	return Setting{Value: text, Problem: problem, Nearest: inv.nearest(text)}, false
}

// nearest returns the pattern of a tool or an owner that may have been meant.
func (inv *Inventory) nearest(given string) string {
	known := map[string]bool{}
	add := func(pattern string) {
		known[pattern] = true
		if cut := strings.LastIndexAny(pattern, "_-.:"); strings.HasSuffix(given, "*") && cut > 0 {
			known[pattern[:cut+1]+"*"] = true
		}
	}
	for _, t := range inv.Tools {
		if strings.Contains(given, ":") {
			add(t.Source + ":" + t.Owner + ":" + t.Name)
		} else {
			add(t.Name)
		}
	}
	for _, t := range inv.Owners {
		add("owner:" + t.Owner)
		add(t.Source + ":" + t.Owner + ":*")
	}
	if found := text.Nearest(given, slices.Sorted(maps.Keys(known)), 1); len(found) > 0 {
		return found[0]
	}
	return ""
}

// unknownPlugins returns the entries for plugins that are not installed.
func (inv *Inventory) unknownPlugins(c References) (out []Setting) {
	if inv.Plugins == nil {
		return nil
	}
	check := func(field, id string) {
		if slices.Contains(inv.Plugins, id) {
			return
		}
		u := Setting{Field: field + id, Value: id, Problem: "is no plugin of the plugin directory"}
		if near := text.Nearest(id, inv.Plugins, 1); len(near) > 0 {
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
