package host

import (
	"fmt"
	"strings"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/modeltools"
	"github.com/quoinhq/quoin/host/policy"
)

// Catalog is what a session reaches at one moment: see Host.Catalog. Its methods are safe for
// concurrent use.
type Catalog struct {
	views   *views
	session Session
	view    *view.View
}

// Catalog returns what Config.Rules leave to a session now. For the zero Session that is what
// everyone reaches.
func (h *Host) Catalog(s Session) Catalog { return Catalog{h.views, s, h.views.SessionView(s)} }

// Tools returns the entries of the tools in catalog order.
func (c Catalog) Tools() []catalog.Entry { return c.view.Entries() }

// Tool describes a tool of Tools by its exact id. Its error is a *catalog.Error.
func (c Catalog) Tool(id string) (*catalog.Description, error) {
	return c.view.Catalog.DescribeID(id)
}

// DirectTools returns the direct-only tools of Config.Tools. Programs cannot call them;
// Host.CallTool can.
func (c Catalog) DirectTools() []catalog.Tool {
	_, direct, f := c.views.split(c.session, nil, policy.Rules{})
	if f != nil { // it fails for rules of a request alone
		c.views.log.Error("the direct-only tools of a session could not be listed", "error", f)
	}
	return direct
}

// Namespace is a namespace that cells can use now.
type Namespace struct {
	ID          string `json:"id"`
	GlobalName  string `json:"globalName"`
	PluginID    string `json:"pluginId"`
	Description string `json:"description"`
	Prompt      string `json:"prompt,omitempty"`
}

// Namespaces returns the namespaces that have all the tools which they require, ordered by id.
func (c Catalog) Namespaces() []Namespace {
	var out []Namespace
	for _, r := range c.view.Namespaces {
		out = append(out, Namespace{r.ID, r.GlobalName, r.PluginID, r.Description, r.Prompt})
	}
	return out
}

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
func (c Catalog) UnavailableNamespaces() []UnavailableNamespace {
	base := c.views.view.Load()
	var out []UnavailableNamespace
	for _, reg := range base.Registry.All() {
		if _, visible := c.view.Namespace(reg.ID); visible {
			continue
		}
		var denied, absent []string
		for _, name := range reg.RequiredTools {
			if _, there := c.view.Catalog.ByOwner(name, reg.PluginID); there {
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

// MCPServer is an MCP server that cells can use now.
type MCPServer = view.MCPServer

// MCPServers returns the MCP servers that have tools in Tools, by identifier, and then the
// servers that are being connected.
func (c Catalog) MCPServers() []MCPServer {
	return append(c.view.MCPServers(), c.view.ComingServers()...)
}

// Definitions returns exec and wait as a model of the session is to be shown them
// when there are no other tools than the host's: for servers that offer code mode
// itself. Their Invoke is nil. Gateways that have tools of a request use ModelTools.
func (c Catalog) Definitions() (exec, wait catalog.Tool) {
	return modeltools.Definitions(c.views.offerOf(c.session, c.view, c.views.layersOf(c.session)), c.views.settingsOf(c.session))
}

// Offered reports whether models of that id get code mode in the session: whether its
// settings enable it, for that model if they name it. For a model that is set to
// ActivationAuto the host's tools count, by what they cost. Model may be empty.
func (c Catalog) Offered(model string) bool {
	exec, wait := c.Definitions()
	cost := promptTokens(c.view, exec, wait)
	cost.Tools = max(cost.Tools, 1) // a request may bring tools that the host does not have
	return c.views.settingsOf(c.session).ActiveFor(model, cost)
}

// promptTokens estimates what a model request costs that could call the tools of a view.
func promptTokens(v *view.View, exec, wait catalog.Tool) codemode.PromptTokens {
	cost := codemode.PromptTokens{CodeMode: modeltools.EstimateTokens(&exec) + modeltools.EstimateTokens(&wait)}
	for _, t := range v.Catalog.Tools() {
		cost.Tools += modeltools.EstimateTokens(t)
	}
	return cost
}
