package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/celltypes"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/devloop"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newPluginTypes() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "types [DIR]",
		Short: "Write the types by which an editor knows what cells can call",
		Long: `Build the plugin in DIR, ask a host what programs can call, and write that to
.quoin/types.d.ts of the folder: the globals of every program, the plugin's tools
and its namespaces. A tsconfig.json is written, too, unless there is one. With both,
an editor completes and checks dev.ts and testdata/*.ts. quoin plugin dev keeps the
types fresh, and quoin plugin test --check holds the cells against them.

An editor objects to a return at the top level of a .ts file (TS1108), and no option
of TypeScript changes that; --check does not. In .js files editors do not object.
Exit status: 0 written, 1 failed, 2 usage.`,
		Example: `  quoin plugin types
  quoin plugin types ./weather`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := pluginbuild.Open(dirOf(args))
			if err != nil {
				return err
			}
			return o.develop(cmd, folder, func(ctx context.Context, d devloop.Options) error {
				notes, err := writeTypes(ctx, d)
				for _, note := range notes {
					_, printed := terminal.Fprintln(cmd.OutOrStdout(), note)
					err = errors.Join(err, printed)
				}
				return err
			})
		},
	}
	o.bind(cmd, false)
	cmd.Flags().Lookup("plugins").Usage = "directory of plugins that are to be there, too (default: none)"
	return cmd
}

// writeTypes puts the plugin into the host for as long as it takes to ask for its types.
func writeTypes(ctx context.Context, d devloop.Options) (notes []string, err error) {
	into := filepath.Join(d.Work, "types")
	if err := os.Mkdir(into, 0o700); err != nil {
		return nil, err
	}
	found, err := d.Folder.Build(ctx, into)
	if err != nil {
		return nil, err
	}
	if err := d.Host.Develop(ctx, found); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Host.Undo(context.WithoutCancel(ctx))) }()
	text, err := celltypes.Declarations(ctx, d.Host, d.Session)
	if err != nil {
		return nil, err
	}
	if notes, err = celltypes.Write(d.Folder.Dir, text); len(notes) == 0 && err == nil {
		notes = []string{celltypes.TypesName + " is as it should be"}
	}
	return notes, err
}
