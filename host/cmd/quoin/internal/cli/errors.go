// Package cli has what all commands of quoin share: exit codes, the errors that lead
// to them, flags with a fixed set of words, and completion.
package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/codemode"
)

// The exit codes. They are part of the command's interface.
const (
	ExitCompleted = 0
	ExitFailed    = 1
	ExitUsage     = 2
	ExitWaiting   = 3
)

// UsageError is a command line that makes no sense.
type UsageError struct{ error }

// AsUsage returns err as an error of the command line.
func AsUsage(err error) error { return UsageError{err} }

// Usagef returns an error of the command line.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// InputError is something that the command line names and that cannot be used, such
// as a missing file. The command line itself makes sense.
type InputError struct {
	error
	Reason codemode.Reason // of the result of a cell
}

// AsInput returns err as an error of something that the command line names.
func AsInput(err error, reason codemode.Reason) error { return InputError{err, reason} }

// Unwrap returns the cause.
func (e InputError) Unwrap() error { return e.error }

// ExitError carries an exit code for a command that has already said why.
type ExitError struct{ Code int }

// Error implements error.
func (e ExitError) Error() string { return fmt.Sprintf("exit %d", e.Code) }

// Failed is err, or the exit code of a command that has said why it failed.
func Failed(err error, failed bool) error {
	if err == nil && failed {
		err = ExitError{ExitFailed}
	}
	return err
}

// OneArg accepts one argument. Its error calls it name, and hint says where to find it.
func OneArg(name, hint string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return Usagef("%d arguments, expected one: %s, %s", len(args), name, hint)
		}
		return nil
	}
}

// Args makes a wrong number of arguments a usage error.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return UsageError{err}
		}
		return nil
	}
}
