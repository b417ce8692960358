package host

import (
	"fmt"
	"strings"
)

// UnavailableNamespace is a namespace that a plugin has registered and a session cannot
// use.
type UnavailableNamespace struct {
	GlobalName string `json:"globalName"`
	PluginID   string `json:"pluginId"`
	// Reason says what is missing. It names tools that rules deny, so that it is for
	// operators, not for programs or models.
	Reason string `json:"reason"`
}

// UnavailableNamespaces returns the namespaces that Namespaces leaves out, and why:
// a namespace is there only if every tool that it requires is.
func (h *Host) UnavailableNamespaces(s Session) []UnavailableNamespace {
	seen := h.sessionView(s)
	base := h.view.Load()
	var out []UnavailableNamespace
	for _, reg := range base.Registry.All() {
		if _, visible := seen.Namespace(reg.ID); visible {
			continue
		}
		var denied, absent []string
		for _, name := range reg.RequiredTools {
			if _, there := seen.Catalog.ByOwner(name, reg.PluginID); there {
				continue
			}
			if tool, there := base.Catalog.ByOwner(name, reg.PluginID); there {
				denied = append(denied, tool.ID())
			} else {
				absent = append(absent, name)
			}
		}
		var why []string
		if len(denied) > 0 {
			why = append(why, "rules deny "+strings.Join(denied, ", "))
		}
		if len(absent) > 0 {
			why = append(why, fmt.Sprintf("plugin %s does not offer %s", reg.PluginID, strings.Join(absent, ", ")))
		}
		out = append(out, UnavailableNamespace{reg.GlobalName, reg.PluginID, "it needs all of its tools, and " + strings.Join(why, "; ")})
	}
	return out
}
