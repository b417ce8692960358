package mcpcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newList() *cobra.Command {
	return app.NewList("list", "Say how each upstream MCP server fares, and why one is down", `  quoin mcp list
  quoin mcp list --config quoin.json5 --json
  quoin mcp list --server http://127.0.0.1:8787`, printMCP)
}

func printMCP(ctx context.Context, from app.Backend, _ host.Session) (any, func(*strings.Builder), error) {
	list, err := from.MCPServers(ctx)
	return list, func(b *strings.Builder) {
		output.Table(b, "SERVER\tIN PROGRAMS\tTRANSPORT\tSTATE\tSINCE\tTOOLS\tSERVED BY\tREASON", list, func(s gateway.MCPServer) []any {
			by := terminal.Short(s.ServerName)
			if s.ServerVersion != "" {
				by += " " + terminal.Short(s.ServerVersion)
			}
			return []any{s.Name, "MCP." + s.Identifier, s.Transport, serverState(s), s.Since.Local().Format(time.DateTime), s.Tools, by, serverReason(s)}
		})
		for _, s := range list {
			if len(s.Findings) > 0 {
				terminal.Fprintf(b, "\n%s:\n", terminal.Short(s.Name))
				printSuspicions(b, "", s.Findings)
			}
		}
	}, err
}

// serverState is the state in words.
func serverState(s gateway.MCPServer) string {
	if s.NeedsSignIn {
		return "needs sign-in"
	}
	return s.State
}

// serverReason says why a server, or a part of it, is not there, and what to do.
func serverReason(s gateway.MCPServer) string {
	switch {
	case s.NeedsSignIn:
		return "quoin mcp login " + s.Name
	case s.Quarantined > 0:
		return fmt.Sprintf("%s in quarantine: quoin mcp accept %s", output.Count(s.Quarantined, "tool"), s.Name)
	case !s.Retry.IsZero():
		return fmt.Sprintf("%s (tried again at %s)", terminal.Short(s.Reason), s.Retry.Local().Format(time.TimeOnly))
	}
	return terminal.Short(s.Reason)
}
