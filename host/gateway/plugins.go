package gateway

import (
	"net/http"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/redact"
	"github.com/quoinhq/quoin/internal/trust"
	"github.com/quoinhq/quoin/plugins"
)

// PluginList is the answer to GET /v1/plugins.
type PluginList struct {
	// Plugins are all of the plugin directory, by id, whether they run or not.
	Plugins []Plugin `json:"plugins"`
}

// Plugin is the state of one plugin at one moment.
type Plugin struct {
	// ID is the id in the manifest, or the name of the folder if the manifest cannot be read.
	ID      string `json:"id"`
	Version string `json:"version,omitempty"` // of the manifest, unless it cannot be read
	// State is starting, running, restarting, disabled or stopped.
	State string `json:"state"`
	// Reason says why a plugin is disabled or restarting, or why the namespaces of
	// one that runs are refused.
	Reason string `json:"reason,omitempty"`
	// Restarts counts how often the process was started again after it died.
	Restarts int `json:"restarts"`
	// Generation counts what was put into service under the id.
	Generation int `json:"generation"`
	// LastError says why the last reload failed; the generation before still runs.
	LastError string `json:"lastError,omitempty"`
	// Development says that a plugin under development stands in for the installed
	// one.
	Development bool `json:"development,omitempty"`
	// Pinned says that the plugin starts only as what quoin.lock or a trusted
	// signature says.
	Pinned bool `json:"pinned"`
	// Signer is the key that has signed a pinned plugin.
	Signer string `json:"signer,omitempty"`
	// Tools and Namespaces are the names of what the plugin offers now.
	Tools      []string `json:"tools"`
	Namespaces []string `json:"namespaces"`
}

// PluginOf is the public part of a plugin's status: no paths, no processes.
func PluginOf(s plugins.Status) Plugin {
	signer := ""
	if s.Signer != (trust.PublicKey{}) {
		signer = s.Signer.String()
	}
	return Plugin{
		ID:         s.ID,
		Version:    s.Version,
		State:      s.State.String(),
		Reason:     s.Reason,
		Restarts:   s.Restarts,
		Generation: s.Generation, LastError: s.LastError, Development: s.Development,
		Pinned: s.Pinned, Signer: signer,
		Tools:      nonNil(s.Tools),
		Namespaces: nonNil(s.Namespaces),
	}
}

// list answers with the plugins of the host.
func (h pluginHandlers) list(w http.ResponseWriter, _ *http.Request, _ Session) *Problem {
	list := PluginList{[]Plugin{}}
	for _, status := range h.host.Plugins() {
		list.Plugins = append(list.Plugins, PluginOf(status))
	}
	return h.ok(w, list)
}

// MCPServerList is the answer to GET /v1/mcp-servers.
type MCPServerList struct {
	// Servers are the configured servers that are not disabled, by name.
	Servers []MCPServer `json:"servers"`
}

// MCPServer is the state of one upstream MCP server at one moment.
type MCPServer struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"` // in programs, as in MCP.<identifier>
	// State is connecting, connected or down.
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Reason says why it is down, or what is odd while it is being connected, and Retry when one
	// that is down is tried again.
	Reason string    `json:"reason,omitempty"`
	Retry  time.Time `json:"retry,omitzero"`
	// Tools counts the tools that the server offers. It is 0 while it is down.
	Tools int `json:"tools"`
	// Transport is stdio, http or openapi.
	Transport string `json:"transport"`
	// NeedsSignIn is set for a server that is down because someone has to sign in:
	// quoin mcp login.
	NeedsSignIn bool `json:"needsSignIn,omitempty"`
	// Quarantined counts the tools that are new or have changed, and do not exist until
	// they are accepted: quoin mcp accept.
	Quarantined int `json:"quarantined,omitempty"`
	// Protocol is the version agreed on, ServerName and ServerVersion what the
	// server says of itself.
	Protocol      string `json:"protocol,omitempty"`
	ServerName    string `json:"serverName,omitempty"`
	ServerVersion string `json:"serverVersion,omitempty"`
	// Notice says which tools wait to be accepted, and how to do that. Findings are what
	// is suspicious about the tools.
	Notice   string        `json:"notice,omitempty"`
	Findings []mcp.Finding `json:"findings,omitempty"`
}

// MCPServersOf describes the MCP servers of a host's configuration that are not
// disabled, by name. Credentials in the reasons are masked.
func MCPServersOf(h *host.Host) []MCPServer {
	out := []MCPServer{}
	for _, st := range h.MCPStatus() {
		s := MCPServer{
			Name: st.Name, Identifier: st.Identifier, State: string(st.State), Since: st.Since, Tools: st.Tools,
			Transport: st.Transport, NeedsSignIn: st.NeedsSignIn, Quarantined: st.Quarantined(), Protocol: st.Protocol, ServerName: st.ServerName, ServerVersion: st.ServerVersion,
			Notice: st.Notice(), Findings: st.Findings, Retry: st.Retry,
		}
		if st.State != mcp.StateConnected && st.Error != nil {
			s.Reason = redact.Redactor{}.Text(st.Error.Error())
		}
		out = append(out, s)
	}
	return out
}

// listMCPServers lists the MCP servers of the host.
func (h pluginHandlers) listMCPServers(w http.ResponseWriter, _ *http.Request, _ Session) *Problem {
	return h.ok(w, MCPServerList{MCPServersOf(h.host)})
}
