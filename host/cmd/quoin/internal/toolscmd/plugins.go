package toolscmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

func NewPlugins() *cobra.Command {
	return app.NewList("plugins", "Say how each plugin fares, and why one is not running", `  quoin plugins
  quoin plugins --plugins ./plugins.d --json
  quoin plugins --server http://127.0.0.1:8787`, printPlugins)
}

func printPlugins(ctx context.Context, w io.Writer, b app.Backend, _ host.Session, asJSON bool) error {
	list, err := b.Plugins(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		if list == nil {
			list = []gateway.Plugin{}
		}
		return output.PrintJSON(w, list)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "PLUGIN\tVERSION\tSTATE\tLOCK\tTOOLS\tNAMESPACES\tREASON")
	for _, p := range list {
		terminal.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%d\t%s\n", p.ID, p.Version, stateOf(p), lockOf(p), len(p.Tools), len(p.Namespaces), output.FirstLine(cmp.Or(p.Reason, notReloaded(p))))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if err := printReasons(w, list); err != nil {
		return err
	}
	return printPassedOver(w, b)
}

// printReasons writes whole what the table has cut off: remedies stand at the end.
func printReasons(w io.Writer, list []gateway.Plugin) error {
	for _, p := range list {
		reason := cmp.Or(p.Reason, notReloaded(p))
		if lines := strings.TrimSpace(terminal.Text(reason)); lines != output.FirstLine(reason) {
			if _, err := terminal.Fprintf(w, "\n%s: %s\n", p.ID, lines); err != nil {
				return err
			}
		}
	}
	return nil
}

// printPassedOver names the folders of the plugin directory that are no plugins. A
// server does not tell what is in its directories.
func printPassedOver(w io.Writer, b app.Backend) error {
	own, ok := b.(app.Local)
	if !ok || own.PluginDir() == "" {
		return nil
	}
	names, err := plugins.SkippedDirs(own.PluginDir())
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, err := terminal.Fprintf(w, "%s is passed over: the folder has no %s\n", terminal.Short(name), manifest.Name); err != nil {
			return err
		}
	}
	return nil
}

// stateOf is the state in a word, and what is special about it.
func stateOf(p gateway.Plugin) string {
	state := p.State
	if p.Development {
		state += " (development)"
	}
	if p.State == plugins.StateRunning.String() && p.Reason != "" {
		state += " (namespace refused)"
	}
	return state
}

// notReloaded says why what is installed is not what serves.
func notReloaded(p gateway.Plugin) string {
	if p.LastError == "" {
		return ""
	}
	return "not reloaded: " + p.LastError
}

// lockOf says what holds a plugin to its files.
func lockOf(p gateway.Plugin) string {
	switch {
	case p.Signer != "":
		return "signed"
	case p.Pinned:
		return "pinned"
	}
	return "none"
}
