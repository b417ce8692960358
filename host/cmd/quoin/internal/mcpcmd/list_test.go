package mcpcmd

import (
	"context"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/mcp"
)

// someServers is a backend that has MCP servers and nothing else.
type someServers struct {
	app.Backend
	list []gateway.MCPServer
}

func (s someServers) MCPServers(context.Context) ([]gateway.MCPServer, error) { return s.list, nil }

// TestListOfServersDoesNothingToATerminal: the list may come from a server of others.
func TestListOfServersDoesNothingToATerminal(t *testing.T) {
	t.Parallel()
	const bad = "\x1b[2Jx"
	var out strings.Builder
	b := someServers{list: []gateway.MCPServer{{Name: bad, Identifier: bad, State: bad, Reason: bad, Findings: []mcp.Finding{{Tool: bad, Field: bad, Kind: bad, Text: bad}}}}}
	_, text, err := printMCP(t.Context(), b, host.Session{})
	if err != nil {
		t.Fatal(err)
	}
	if text(&out); out.Len() == 0 {
		t.Fatal("nothing is printed")
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("printed %q", out.String())
	}
}
