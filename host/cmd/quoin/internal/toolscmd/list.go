// Package toolscmd has the commands that list what a host offers to programs and to models.
package toolscmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/internal/terminal"
)

func NewTools() *cobra.Command {
	return app.NewList("tools", "List the tools that cells can call", `  quoin tools
  quoin tools --plugins ./plugins.d --json
  quoin tools --server http://127.0.0.1:8787`, printTools)
}

func NewNamespaces() *cobra.Command {
	return app.NewList("namespaces", "List the namespaces that cells can use", `  quoin namespaces
  quoin namespaces --json`, printNamespaces)
}

func printTools(ctx context.Context, b app.Backend, s host.Session) (any, func(*strings.Builder), error) {
	entries, err := b.Tools(ctx, s)
	return append([]catalog.Entry{}, entries...), func(b *strings.Builder) {
		output.Table(b, "ID\tCALL\tDESCRIPTION", entries, func(e catalog.Entry) []any {
			return []any{e.ID, output.Called(e.Call), output.FirstLine(e.Description)}
		})
	}, err
}

func printNamespaces(ctx context.Context, from app.Backend, s host.Session) (any, func(*strings.Builder), error) {
	list, err := from.Namespaces(ctx, s)
	return append([]host.Namespace{}, list...), func(b *strings.Builder) {
		output.Table(b, "GLOBAL\tPLUGIN\tDESCRIPTION", list, func(n host.Namespace) []any {
			return []any{n.GlobalName, n.PluginID, output.FirstLine(n.Description)}
		})
		// Only the operator of a host learns which namespaces cells cannot use: the reasons name
		// tools that rules deny.
		if own, ok := from.(app.Local); ok {
			for _, n := range own.Catalog(s).UnavailableNamespaces() {
				terminal.Fprintf(b, "%s of plugin %s is not visible: %s\n", n.GlobalName, n.PluginID, n.Reason)
			}
		}
	}, err
}
