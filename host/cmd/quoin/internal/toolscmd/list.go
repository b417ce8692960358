// Package toolscmd has the commands that list what a host offers to programs and to models.
package toolscmd

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

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

func printTools(ctx context.Context, w io.Writer, b app.Backend, s host.Session, asJSON bool) error {
	entries, err := b.Tools(ctx, s)
	if err != nil {
		return err
	}
	if asJSON {
		if entries == nil {
			entries = []catalog.Entry{}
		}
		return output.PrintJSON(w, entries)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tCALL\tDESCRIPTION")
	for _, e := range entries {
		terminal.Fprintf(tw, "%s\t%s\t%s\n", e.ID, output.Called(e.Call), output.FirstLine(e.Description))
	}
	return tw.Flush()
}

func printNamespaces(ctx context.Context, w io.Writer, b app.Backend, s host.Session, asJSON bool) error {
	list, err := b.Namespaces(ctx, s)
	if err != nil {
		return err
	}
	if asJSON {
		if list == nil {
			list = []host.Namespace{}
		}
		return output.PrintJSON(w, list)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "GLOBAL\tPLUGIN\tDESCRIPTION")
	for _, n := range list {
		terminal.Fprintf(tw, "%s\t%s\t%s\n", n.GlobalName, n.PluginID, output.FirstLine(n.Description))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return printHidden(w, b, s)
}

// printHidden says which namespaces cells cannot use, and why. Only the operator of
// a host learns that: the reasons name tools that rules deny.
func printHidden(w io.Writer, b app.Backend, s host.Session) error {
	own, ok := b.(app.Local)
	if !ok {
		return nil
	}
	for _, n := range own.UnavailableNamespaces(s) {
		if _, err := terminal.Fprintf(w, "%s of plugin %s is not visible: %s\n", n.GlobalName, n.PluginID, n.Reason); err != nil {
			return err
		}
	}
	return nil
}
