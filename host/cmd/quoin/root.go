package main

import (
	"context"
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/quoinhq/quoin/guestrt"
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
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && !strings.HasPrefix(args[0], "-") { // its flags are those of a command that does not exist
			return root.Args(root, args)
		}
		return cli.AsUsage(err)
	})
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
		Use:     "quoin",
		Short:   "Code mode for Go gateways",
		Version: host.Version,
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
	root.AddCommand(newExec(), newWait(), newTools(), newNamespaces(), newPlugins(), newPlugin(), newMCP(), newNode(), newRuns(), newState(), newUndo(), newApprovals(), newPrograms(), newPrompt(), newServe(), newTrajectory(), newConfig(), newDoctor(),
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
	// Engines are those that guests can run on.
	Engines []foundEngine `json:"engines"`
}

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version and the engines that there are guest workers for, each with its own
version; and with --json also the commit that the command was built from, as far as
the build has recorded it, and what it was built with.`,
		Example: `  quoin version
  quoin version --json`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := thisVersion(cmd.Context())
			switch {
			case err != nil:
				return err
			case asJSON:
				return output.PrintJSON(cmd.OutOrStdout(), v)
			}
			return v.print(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (v *version) print(w io.Writer) error {
	var b strings.Builder
	terminal.Fprintf(&b, "quoin %s\n", v.Version)
	for _, e := range v.Engines {
		if e.ID != "" {
			terminal.Fprintf(&b, "%s engine %s\n", e.Engine, e.ID)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func thisVersion(ctx context.Context) (version, error) {
	v := version{Version: host.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	for _, choice := range []host.EngineChoice{host.EngineDefault, host.EngineNative} {
		e, err := findEngine(ctx, guestrt.Config{}, choice)
		if err != nil {
			return v, err
		}
		v.Engines = append(v.Engines, e)
	}
	build, _ := debug.ReadBuildInfo()
	if build == nil {
		return v, nil
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v, nil
}
