package plugincmd

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/conformance"
)

func newConformance() *cobra.Command {
	var o app.Flags
	var asJSON bool
	var declaration string
	cmd := &cobra.Command{
		Use:   "conformance DIR",
		Short: "Examine how a plugin in any language speaks the protocol",
		Long: `Start the plugin in DIR again and again, in data directories that are thrown
away, and hold what it does against the plugin protocol. What only a tool that
cooperates can show is declared in the file conformance.json of DIR, or in
--declaration; docs/reference/plugin-protocol.md says how. Tools that are neither
declared nor marked read-only are called with refused inputs only.
Exit status: 0 no problems, 1 problems, 2 usage.`,
		Example: `  quoin plugin conformance ./weather
  quoin plugin conformance ./weather --declaration testdata/conformance.json`,
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
			configs, _ := inDevelopment(f, folder)
			options := &conformance.Options{Config: configs[plugins.Find(args[0]).ID()]}
			if declaration != "" {
				if options.Declaration, err = conformance.ReadDeclaration(declaration); err != nil {
					return err
				}
			}
			print := printPart
			if asJSON {
				print = func(w io.Writer, r conformance.Result) error { return output.PrintJSON(w, r) }
			}
			return examine(cmd.Context(), cmd.OutOrStdout(), args[0], options, print)
		},
	}
	o.BindConfig(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one line for each part")
	cmd.Flags().StringVar(&declaration, "declaration", "", "the `file` that declares what the plugin's tools can show")
	return cmd
}

// examine runs each part of the suite and prints what came of it.
func examine(ctx context.Context, w io.Writer, dir string, o *conformance.Options, print func(io.Writer, conformance.Result) error) error {
	problems := 0
	for _, part := range conformance.Parts() {
		r, err := part.Run(ctx, dir, o)
		if err != nil {
			return fmt.Errorf("%s: %w", part.Name, err)
		}
		if err := print(w, r); err != nil {
			return err
		}
		problems += len(r.Problems)
	}
	if problems > 0 {
		return cli.ExitError{Code: cli.ExitFailed}
	}
	return nil
}

// printPart prints a line for the part, and one for each problem and for what could
// not be exercised.
func printPart(w io.Writer, r conformance.Result) error {
	verdict := "ok"
	if len(r.Problems) > 0 {
		verdict = "FAIL"
	}
	text := fmt.Sprintf("%-4s %s\n", verdict, r.Name)
	for _, p := range output.Counts(r.Problems) {
		text += "     " + p + "\n"
	}
	for _, m := range r.NotExercised {
		text += "     not exercised: " + m + "\n"
	}
	_, err := io.WriteString(w, terminal.Text(text))
	return err
}
