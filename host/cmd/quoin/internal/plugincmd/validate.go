package plugincmd

import (
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginlint"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newValidate() *cobra.Command {
	var o app.Flags
	cmd := &cobra.Command{
		Use:   "validate DIR",
		Short: "Report what a host would refuse about a plugin, and what a model would stumble over",
		Long: `Read the manifest in DIR, start the plugin in a data directory that is thrown
away, and look at all it offers. Errors are what a host refuses; warnings are
what it serves, but a model will use badly. What has sources is built first, as plugin
dev builds it. The plugin is started with the configuration and the secrets that
--config has for it, else with those of dev.json5; a secret that cannot be had is a
warning, and the plugin gets a stand-in.
Exit status: 0 no errors, 1 errors, 2 usage.`,
		Example: `  quoin plugin validate ./weather
  quoin plugin validate ./weather --json
  quoin plugin validate ./weather --config quoin.json5`,
		Args: cli.OneArg("DIR", "the folder with plugin.json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := o.Load()
			if err != nil {
				return err
			}
			folder, err := openFresh(cmd, args[0], false)
			if err != nil {
				return err
			}
			configs, secrets := inDevelopment(f, folder)
			r, err := pluginlint.Check(cmd.Context(), args[0], pluginlint.Options{Configs: configs, Secrets: secrets, Logger: app.Logger(f, cmd.ErrOrStderr(), slog.LevelWarn)})
			if err != nil {
				return err
			}
			return cli.Failed(o.Print(cmd, r, func(b *strings.Builder) { printReport(b, r) }), r.Errors() > 0)
		},
	}
	o.BindConfig(cmd)
	o.BindJSON(cmd)
	return cmd
}

// printReport prints a line for each problem, and one that sums up.
func printReport(b *strings.Builder, r *pluginlint.Report) {
	for _, p := range r.Problems {
		terminal.Fprintln(b, p)
	}
	name := r.Dir
	if r.ID != "" {
		name = r.ID + " " + r.Version
	}
	terminal.Fprintf(b, "%s: %d tools, %d namespaces, %d errors, %d warnings\n", name, len(r.Tools), len(r.Namespaces), r.Errors(), r.Warnings())
}
