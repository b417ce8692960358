package servecmd

import (
	"context"
	"log/slog"
	"maps"
	"net/http"

	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/internal/resourceserver"
)

// mcpPath is where quoin serve is an MCP server.
const mcpPath = "/mcp"

// addMCPAuth lets callers of /mcp in by tokens of the configured identity provider, if
// there is one. What it starts ends with ctx.
func addMCPAuth(ctx context.Context, o *gateway.Options, c resourceserver.Config, log *slog.Logger) error {
	if c.Issuer == "" {
		return nil
	}
	c.Logger = log
	s, err := resourceserver.New(ctx, c)
	if err != nil {
		return err
	}
	o.Auth = map[string]gateway.Authenticator{mcpPath: s.Authenticate}
	if o.Public == nil {
		o.Public = map[string]http.Handler{}
	}
	maps.Copy(o.Public, s.Metadata(mcpPath))
	return nil
}
