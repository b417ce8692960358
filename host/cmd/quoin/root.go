package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/terminal"
)

// The exit codes. They are part of the command's interface.
const (
	exitCompleted = 0
	exitFailed    = 1
	exitUsage     = 2
	exitWaiting   = 3
)

// usageError is a command line that makes no sense.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// inputError is something that the command line names and that cannot be used, such
// as a file that is not there. The command line makes sense all the same.
type inputError struct {
	error
	reason host.Reason // of the result of a cell
}

func (e inputError) Unwrap() error { return e.error }

// exitError carries an exit code for a command that has said all there is.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// run is the whole command, for main and for tests.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var exit exitError
	var usage usageError
	switch {
	case err == nil:
		return exitCompleted
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage):
		terminal.Fprintf(stderr, "quoin: %v\nRun '%s --help' for usage.\n", err, cmd.CommandPath())
		return exitUsage
	default:
		terminal.Fprintf(stderr, "quoin: %v\n", forPeople(err))
		return exitFailed
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
		Args:              usageArgs(cobra.NoArgs),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newExec(), newWait(), newTools(), newNamespaces(), newPlugins(), newPlugin(), newMCP(), newRuns(), newApprovals(), newPrompt(), newServe(), newTrajectory(), newConfig(), newDoctor(),
		newVersion())
	completePaths(root)
	return root
}

// oneArg wants one argument, what the usage calls name; hint says where to find it.
func oneArg(name, hint string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("%d arguments, expected one: %s, %s", len(args), name, hint)
		}
		return nil
	}
}

// usageArgs makes a wrong number of arguments a usage error.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
