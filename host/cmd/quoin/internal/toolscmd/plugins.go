package toolscmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/internal/access"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
)

func NewPlugins() *cobra.Command {
	return app.NewList("plugins", "Say how each plugin fares, and why one is not running", `  quoin plugins
  quoin plugins --plugins ./plugins.d --json
  quoin plugins --server http://127.0.0.1:8787`, printPlugins)
}

func printPlugins(ctx context.Context, from app.Backend, _ host.Session) (any, func(*strings.Builder), error) {
	list, err := from.Plugins(ctx)
	if err != nil {
		return nil, nil, err
	}
	skipped, err := skippedDirs(from)
	return append([]gateway.Plugin{}, list...), func(b *strings.Builder) {
		output.Table(b, "PLUGIN\tVERSION\tSTATE\tLOCK\tTOOLS\tNAMESPACES\tREASON", list, func(p gateway.Plugin) []any {
			return []any{p.ID, p.Version, stateOf(p), lockOf(p), len(p.Tools), len(p.Namespaces), output.FirstLine(reasonOf(p))}
		})
		for _, p := range list { // whole what the table has cut off: remedies stand at the end
			if lines := strings.TrimSpace(terminal.Text(reasonOf(p))); lines != output.FirstLine(reasonOf(p)) {
				terminal.Fprintf(b, "\n%s: %s\n", p.ID, lines)
			}
		}
		for _, name := range skipped {
			terminal.Fprintf(b, "%s is passed over: the folder has no %s\n", terminal.Short(name), manifest.Name)
		}
	}, err
}

// skippedDirs are the folders of the plugin directory that are no plugins. A server does not
// tell what is in its directories.
func skippedDirs(from app.Backend) ([]string, error) {
	own, ok := from.(app.Local)
	if !ok || access.OfHost(own.Host).PluginDir == "" {
		return nil, nil
	}
	return plugins.SkippedDirs(access.OfHost(own.Host).PluginDir)
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

// reasonOf says why a plugin does not run, or why what is installed is not what serves.
func reasonOf(p gateway.Plugin) string {
	if p.Reason == "" && p.LastError != "" {
		return "not reloaded: " + p.LastError
	}
	return p.Reason
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
