// Package plugincmd has the commands for authors of plugins and for those who install them.
package plugincmd

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/scaffold"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/plugins/manifest"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
)

func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Make, check and install plugins",
		Long:  `Make, check and install plugins. How those of a host fare is what quoin plugins says.`,
		Example: `  quoin plugin new weather
  quoin plugin validate ./weather
  quoin plugin pack ./weather
  quoin plugin install ./weather`,
	}
	cmd.AddCommand(
		newNew(),
		newDev(),
		newTest(),
		newTypes(),
		newDebug(),
		newValidate(),
		newSchema(),
		newConformance(),
		newPack(),
		newInstall(),
		newUpgrade(),
		newPin(),
		newRemove(),
		newKeys(),
	)
	return cmd
}

func newNew() *cobra.Command {
	var o scaffold.Options
	var quoin string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Make the folder of a new plugin",
		Long: `Make a folder with a plugin that builds and passes its tests: a typed tool, a
namespace with a verb for it, tests, cells with expectations, and a manifest.
Languages: ` + strings.Join(scaffold.Languages(), ", ") + `.

A plugin in Go requires the release of Quoin that this command is. A command that
was built from a checkout makes it use that checkout, and says so; it is found by
itself where the command was built with paths, or stands in the checkout.`,
		Example: `  quoin plugin new weather
  quoin plugin new weather --dir plugins/weather --module example.org/weather
  quoin plugin new weather --quoin ~/src/quoin`,
		Args: cli.OneArg("NAME", "the id of the plugin, such as weather"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = args[0]
			if _, err := scaffold.NamesOf(o.ID); err != nil {
				return cli.AsUsage(err)
			}
			var err error
			if o.Source, err = scaffold.FindSource(quoin, "."); err != nil {
				return cli.AsUsage(err)
			}
			made, err := scaffold.Create(cmd.Context(), o)
			if err != nil {
				return cli.AsUsage(err)
			}
			return printMade(cmd.OutOrStdout(), made)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "dir", "", "folder to make (default: NAME)")
	f.StringVar(&o.Language, "lang", "go", "language: "+strings.Join(scaffold.Languages(), ", "))
	f.StringVar(&o.Module, "module", "", "path of the plugin's module (default: example.com/NAME)")
	f.StringVar(&quoin, "quoin", "", "checkout of Quoin that the plugin is to use")
	return cmd
}

func printMade(w io.Writer, m *scaffold.Made) error {
	var b strings.Builder
	fmt.Fprintf(&b, "made %s, a plugin whose namespace is %s\n", filepath.ToSlash(m.Dir), m.Global)
	for _, f := range m.Files {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	for _, n := range m.Notes {
		fmt.Fprintln(&b, n)
	}
	fmt.Fprintf(&b, "\nnow: cd %s && quoin plugin dev .\n", filepath.ToSlash(m.Dir))
	_, err := io.WriteString(w, terminal.Text(b.String()))
	return err
}

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of plugin.json",
		Example: `  quoin plugin schema > plugin.schema.json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := manifest.JSONSchema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}
