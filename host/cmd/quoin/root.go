package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/internal/terminal"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
)

// run is the whole command, for main and for tests.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var exit cli.ExitError
	var usage cli.UsageError
	switch {
	case err == nil:
		return cli.ExitCompleted
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &usage):
		terminal.Fprintf(stderr, "quoin: %v\nRun '%s --help' for usage.\n", err, cmd.CommandPath())
		return cli.ExitUsage
	default:
		terminal.Fprintf(stderr, "quoin: %v\n", forPeople(err))
		return cli.ExitFailed
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "quoin",
		Short: "Code mode for Go gateways",
		Long: `Quoin runs small JavaScript and TypeScript programs, called cells, in a sealed
guest process. A cell reaches tools through the catalog and through namespaces
that plugins own.`,
		Example: `  quoin exec -e 'return 6 * 7'
  quoin exec report.ts --plugins ./plugins.d
  quoin tools`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cli.Args(cobra.NoArgs),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.AsUsage(err) })
	root.AddCommand(newExec(), newWait(), newTools(), newNamespaces(), newPlugins(), newPlugin(), newMCP(), newNode(), newRuns(), newApprovals(), newPrompt(), newServe(), newTrajectory(), newConfig(), newDoctor(),
		newVersion())
	completePaths(root)
	return root
}

// version is what is known of the build of this command.
type version struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // of the checkout it was built from
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version, and with --json also the commit that the command was built from,
as far as the build has recorded it, and what it was built with.`,
		Example: `  quoin version
  quoin version --json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return output.PrintJSON(cmd.OutOrStdout(), thisVersion())
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "quoin "+host.Version)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func thisVersion() version {
	v := version{Version: host.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return v
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
