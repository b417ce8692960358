package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/scaffold"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newPluginNew() *cobra.Command {
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
		Args: oneArg("NAME", "the id of the plugin, such as weather"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.ID = args[0]
			if _, err := scaffold.NamesOf(o.ID); err != nil {
				return usageError{err}
			}
			var err error
			if o.Source, err = scaffold.FindSource(quoin, "."); err != nil {
				return usageError{err}
			}
			made, err := scaffold.Create(cmd.Context(), o)
			if err != nil {
				return usageError{err}
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
