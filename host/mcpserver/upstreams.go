package mcpserver

import (
	"context"
	"slices"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/text"
)

// Many clients read the instructions and the list of tools once, when they start this server.
// Upstream servers may take longer to connect than a client waits: the first answers name
// them, and clients that listen are told of each change.

// pitch is what a model should know before it reads the list.
const pitch = "Quoin runs programs that call tools. Do a whole task in one exec: a JavaScript program that calls as many tools as the task takes, " +
	"filters what they return, and returns only what matters."

// maxInstructed bounds the names of servers in the instructions, in bytes.
const maxInstructed = 1000

// instructions is what a caller is told first.
func (s *Server) instructions(caller host.Session) string {
	var names []string
	for _, server := range s.host.Catalog(caller).MCPServers() {
		name := "MCP." + server.Identifier
		if server.Connecting {
			name += " (being connected)"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return pitch
	}
	return pitch + " Programs reach these MCP servers: " + text.List(names, maxInstructed) + "."
}

// awaitServers waits, in the first moments of the server, for upstream servers with tools that
// are not known yet.
func (s *Server) awaitServers(ctx context.Context, caller host.Session) {
	ctx, cancel := context.WithDeadline(ctx, s.started.Add(s.times.serversWait))
	defer cancel()
	if ctx.Err() != nil {
		return
	}
	changed := s.host.ToolsChanged(ctx)
	for slices.ContainsFunc(s.host.Catalog(caller).MCPServers(), func(m host.MCPServer) bool { return m.Connecting }) {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
