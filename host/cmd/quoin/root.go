package main

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/approvalscmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/mcpcmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/plugincmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/runcmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/servecmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/statecmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/systemcmd"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/toolscmd"
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
		if cmd == root && !strings.HasPrefix(args[0], "-") { // its flags belong to a command that does not exist
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
		terminal.Fprintf(stderr, "quoin: %v\n", app.ForPeople(err))
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
	}
	root.AddCommand(runcmd.NewExec(), runcmd.NewWait(), toolscmd.NewTools(), toolscmd.NewNamespaces(), toolscmd.NewPlugins(), plugincmd.New(), mcpcmd.New(servecmd.NewMCP()), newShellWorker(), runcmd.NewRuns(), statecmd.New(), runcmd.NewUndo(), approvalscmd.New(runcmd.NewWait), runcmd.NewPrograms(), toolscmd.NewPrompt(), servecmd.New(), runcmd.NewTrajectory(), systemcmd.NewConfig(), systemcmd.NewDoctor(),
		systemcmd.NewVersion())
	finish(root)
	return root
}
