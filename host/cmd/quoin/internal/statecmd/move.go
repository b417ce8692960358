package statecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newMove() *cobra.Command {
	c := carry{
		use:   "move",
		short: "Move all that a state has to another one, while no quoin uses it",
		long: `Move to another state: suspended runs with their approvals, results that wait for
their caller, journals of effects, saved programs, what was always allowed, sign-ins,
tasks of MCP clients, and what plugins have stored. What the tools of MCP servers have
to be is copied: hosts of the old state go on comparing. Each thing is sealed with the
key of the other state.

No quoin may use the old state meanwhile; the command refuses that. All of it arrives, or
nothing. If the command is interrupted, no host opens the old state before you have
repeated it. What cannot be read, or the other state has already, is left, and said.
Trajectories, data directories of plugins and guest builds stay where they are.
Exit status: 0 all of the above has moved, 1 something was left, 2 usage.`,
		example: `  quoin state move --to /var/lib/quoin2
  quoin state move --state /var/lib/quoin --to postgres://quoin@db.example.com/quoin
  quoin state move --to postgres://quoin@db.example.com/quoin2 --to-key new.key`,
		what: "moved",
		do:   statecopy.Move,
	}
	var to, key string
	cmd := newCarry(&c, &to, &key)
	cmd.Flags().StringVar(&key, "to-key", "", "key file of the database that everything goes to; it is made for a new database (default: state.keyFile)")
	cmd.Flags().StringVar(&to, "to", "", "state that all of it goes to")
	return cmd
}

func newExport() *cobra.Command {
	c := carry{
		use:   "export",
		short: "Copy what is stored into a new state directory, and change nothing",
		long: `Copy what quoin state move moves into a new state directory, which has a key of its own
and is to be kept as secret as the state is. Hosts may use the state meanwhile: each run
is copied as it is at that moment. Journals of effects are left: a call must not be
undone twice. A host that uses the copy continues the same runs:
keep it for quoin state import, after a loss.
Exit status: 0 everything was copied, 1 something was left, 2 usage.`,
		example: `  quoin state export --to backup
  quoin state export --state /var/lib/quoin --to backup --json`,
		what:  "copied",
		fresh: true,
		do: func(ctx context.Context, from, to statecopy.State) ([]statecopy.Outcome, error) {
			return statecopy.CopyTo(ctx, from, to)
		},
	}
	var to, key string
	cmd := newCarry(&c, &to, &key)
	cmd.Flags().StringVar(&to, "to", "", "state directory to make")
	return cmd
}

func newImport() *cobra.Command {
	c := carry{
		use:   "import",
		short: "Take what this state does not have of an export",
		long: `Take what this state does not have of an export. A run that went on after the export was
made goes on from where it was then: the calls that it has made since are made again. What
was revoked, signed out of or removed since comes back. So import after a loss, and not
otherwise.
Exit status: 0 everything was taken, 1 something was left, 2 usage.`,
		example: `  quoin state import --from backup
  quoin state import --from backup --state /var/lib/quoin`,
		what: "copied",
		into: true,
		do: func(ctx context.Context, from, to statecopy.State) ([]statecopy.Outcome, error) {
			return statecopy.CopyTo(ctx, from, to)
		},
	}
	var from, key string
	cmd := newCarry(&c, &from, &key)
	cmd.Flags().StringVar(&from, "from", "", "state directory that quoin state export has written")
	return cmd
}

// carry is what the three commands differ in.
type carry struct {
	use, short, long, example string
	what                      string // has become of what has arrived
	into                      bool   // to the state of --state
	fresh                     bool   // the other state must not be there
	do                        func(ctx context.Context, from, to statecopy.State) ([]statecopy.Outcome, error)
}

// newCarry returns the command. other is the state that --state does not name, and key its key file,
// if that is not the configured one.
func newCarry(c *carry, other, key *string) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: c.use, Short: c.short, Long: c.long, Example: c.example,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if *other == "" {
				return cli.Usagef("the other state is not given: name it with --%s", c.flag())
			}
			o.Moving = c.what == "moved"
			return o.with(cmd, func(ctx context.Context, s *storedState) error {
				outcomes, err := s.carry(ctx, *c, *other, *key)
				if err != nil {
					return err
				}
				for i := range outcomes {
					if outcomes[i].What == statecopy.Copied {
						outcomes[i].What = statecopy.What(c.what)
					}
				}
				if o.JSON {
					err = output.PrintJSON(cmd.OutOrStdout(), append([]statecopy.Outcome{}, outcomes...))
				} else {
					err = printCarried(cmd.OutOrStdout(), outcomes)
				}
				return errors.Join(err, left(outcomes))
			})
		},
	}
	o.bind(cmd)
	return cmd
}

func (c carry) flag() string {
	if c.into {
		return "from"
	}
	return "to"
}

// carry opens the other state and carries what there is.
func (s *storedState) carry(ctx context.Context, c carry, other, key string) (_ []statecopy.Outcome, err error) {
	at := app.Flags{State: other}
	if is := !app.IsDatabase(other) && app.IsStateDir(other); c.into && !is {
		return nil, fmt.Errorf("%s is not a state directory", other)
	} else if c.fresh && (is || app.IsDatabase(other)) {
		return nil, fmt.Errorf("%s is a state already: name a directory that is not there", other)
	}
	named := *s.file
	named.StateURL = "" // it is the other one that the flag names
	named.StateKeyFile = cmp.Or(key, named.StateKeyFile)
	theirs, err := openOther(ctx, &at, &named, s.config.Logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.CloseState()) }()
	mine := s.options.Database.Copied()
	if c.into {
		return c.do(ctx, theirs, mine)
	}
	return c.do(ctx, mine, theirs)
}

// openOther opens a state next to the configured one.
func openOther(ctx context.Context, o *app.Flags, f *configfile.File, log *slog.Logger) (statecopy.State, error) {
	state, err := o.StateDir(f)
	if err != nil {
		return nil, err
	}
	if err := o.OpenDatabase(ctx, f, state, log); err != nil {
		return nil, err
	}
	return o.Database.Copied(), nil
}

// printCarried prints runs, what belongs to them and what was left, each on a line, and of all else
// how much it is.
func printCarried(w io.Writer, outcomes []statecopy.Outcome) error {
	var kinds []string
	counts := map[string]int{}
	var errs []error
	for _, o := range outcomes {
		switch kind := runstore.ItemKind(o.Kind); {
		case o.What == statecopy.Left:
			_, err := terminal.Fprintln(w, terminal.Line(fmt.Sprintf("%s %s left: %s", o.Kind, o.ID, o.Reason)))
			errs = append(errs, err)
		case kind == runstore.ItemRun, kind == runstore.ItemResult, kind == runstore.ItemEffects, o.Kind == statecopy.Storage:
			_, err := terminal.Fprintln(w, terminal.Line(fmt.Sprintf("%s %s %s", o.Kind, o.ID, o.What)))
			errs = append(errs, err)
		default:
			if counts[o.Kind]++; counts[o.Kind] == 1 {
				kinds = append(kinds, o.Kind)
			}
		}
	}
	for _, kind := range kinds {
		_, err := terminal.Fprintf(w, "%s: %d\n", kind, counts[kind])
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// left is the exit status of a command that has left something.
func left(outcomes []statecopy.Outcome) error {
	for _, o := range outcomes {
		if o.What == statecopy.Left {
			return cli.ExitError{Code: cli.ExitFailed}
		}
	}
	return nil
}
