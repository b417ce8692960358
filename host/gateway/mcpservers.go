package gateway

import (
	"net/http"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/redact"
)

// MCPServerList is the answer to GET /v1/mcp-servers.
type MCPServerList struct {
	Servers []MCPServer `json:"servers"`
}

// MCPServer is how one upstream MCP server is at one moment.
type MCPServer struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"` // in programs, as in MCP.<identifier>
	// State is connecting, connected or down.
	State string    `json:"state"`
	Since time.Time `json:"since"`
	// Reason says why it is down, Retry when it is tried again.
	Reason string    `json:"reason,omitempty"`
	Retry  time.Time `json:"retry,omitzero"`
	Tools  int       `json:"tools"`
	// Protocol is the version agreed on, ServerName and ServerVersion what the
	// server says of itself.
	Protocol      string `json:"protocol,omitempty"`
	ServerName    string `json:"serverName,omitempty"`
	ServerVersion string `json:"serverVersion,omitempty"`
}

// MCPServersOf describes the MCP servers of a host's configuration that are not
// disabled, by name. Credentials in the reasons are masked.
func MCPServersOf(h *host.Host) []MCPServer {
	out := []MCPServer{}
	for _, st := range h.MCPStatus() {
		s := MCPServer{
			Name: st.Name, Identifier: h.MCPIdentifier(st.Name), State: string(st.State), Since: st.Since, Tools: st.Tools,
			Protocol: st.Protocol, ServerName: st.ServerName, ServerVersion: st.ServerVersion,
		}
		if st.State == mcp.StateDown {
			s.Retry = st.Retry
			if st.Error != nil {
				s.Reason = redact.Redactor{}.Text(st.Error.Error())
			}
		}
		out = append(out, s)
	}
	return out
}

func (s *Server) mcpServers(w http.ResponseWriter, _ *http.Request, _ Session) *Problem {
	return s.ok(w, MCPServerList{MCPServersOf(s.host)})
}
