package statecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/internal/statemove"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newMove() *cobra.Command {
	var to, key string
	cmd := newCarry(carry{
		use:   "move",
		short: "Move suspended runs, and what they need, to another state while hosts use both",
		long: `Move to another state: saved programs, what was always allowed, sign-ins, what plugins
have stored, suspended runs with their approvals, results that wait for their caller, and
journals of effects. What the tools of MCP servers have to
be is copied: hosts of the old state go on comparing. Sign-ins are encrypted with the key
of the other state.

Hosts may use both states meanwhile; each thing counts in one of them at a time. A run
that a host has at the moment is left, and said: repeat the command for it. So is
everything that the other state has with other contents. What was interrupted goes on when
the command is repeated. Trajectories, tasks of MCP clients, data directories of plugins
and guest builds stay where they are: quoin trajectory --state shows the trajectories of
the old state. Exit status: 0 all of the above has moved, 1 something was left, 2 usage.`,
		example: `  quoin state move --to /var/lib/quoin2
  quoin state move --state /var/lib/quoin --to postgres://quoin@db.example.com/quoin
  quoin state move --to postgres://quoin@db.example.com/quoin2 --to-key new.key`,
		other: &to, key: &key, do: (*statemove.Mover).Move,
	})
	cmd.Flags().StringVar(&key, "to-key", "", "key file of the database that everything goes to; it is made for a new database (default: state.keyFile)")
	cmd.Flags().StringVar(&to, "to", "", "state that all of it goes to")
	return cmd
}

func newExport() *cobra.Command {
	var to string
	cmd := newCarry(carry{
		use:   "export",
		short: "Copy what is stored into a state directory, and change nothing",
		long: `Copy saved programs, what was always allowed, pins of MCP tools, sign-ins, what plugins
have stored, suspended runs with their approvals, and results that wait for their caller,
into a state directory. No host goes on with such a copy; quoin state import takes it. The
directory has a key of its own and is to be kept as secret as the state is. Journals of
effects and trajectories are not copied.
Exit status: 0 everything was copied, 1 something was left, 2 usage.`,
		example: `  quoin state export --to backup
  quoin state export --state /var/lib/quoin --to backup --json`,
		other: &to, do: (*statemove.Mover).Copy,
	})
	cmd.Flags().StringVar(&to, "to", "", "state directory to write, which is made if it does not exist")
	return cmd
}

func newImport() *cobra.Command {
	var from string
	cmd := newCarry(carry{
		use:   "import",
		short: "Take what this state does not have of an export",
		long: `Take what this state does not have of an export. A run that went on after the export was
made goes on from where it was then: the calls that it has made since are made again. What
was revoked, signed out of or removed since comes back. So import after a loss, and not
otherwise.
Exit status: 0 everything was taken, 1 something was left, 2 usage.`,
		example: `  quoin state import --from backup
  quoin state import --from backup --state /var/lib/quoin`,
		other: &from, into: true, do: (*statemove.Mover).Import,
	})
	cmd.Flags().StringVar(&from, "from", "", "state directory that quoin state export has written")
	return cmd
}

// carry is what the three commands differ in.
type carry struct {
	use, short, long, example string
	other                     *string // the state that --state does not name
	key                       *string // its key file, if there is a flag for it
	into                      bool    // to the state of --state
	do                        func(*statemove.Mover, context.Context, func(statemove.Outcome) error) error
}

func newCarry(c carry) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: c.use, Short: c.short, Long: c.long, Example: c.example,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if *c.other == "" {
				return cli.Usagef("the other state is not given: name it with --%s", c.flag())
			}
			return o.with(cmd, func(ctx context.Context, s *storedState) error {
				outcomes := []statemove.Outcome{}
				err := s.carry(ctx, c, func(out statemove.Outcome) error {
					outcomes = append(outcomes, out)
					if o.JSON || out.What == statemove.Gone {
						return nil
					}
					return printCarried(cmd.OutOrStdout(), out)
				})
				if o.JSON {
					err = errors.Join(err, output.PrintJSON(cmd.OutOrStdout(), outcomes))
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
func (s *storedState) carry(ctx context.Context, c carry, did func(statemove.Outcome) error) (err error) {
	mine, err := carried(s.options, s.dir, &s.config)
	if err != nil {
		return err
	}
	at := app.Flags{State: *c.other}
	named := *s.file
	named.StateURL = "" // it is the other one that the flag names
	if c.key != nil && *c.key != "" {
		named.StateKeyFile = *c.key
	}
	other, err := OpenOther(&at, ctx, &named, c.into, s.config.Logger)
	if err != nil {
		return errors.Join(err, at.CloseState())
	}
	defer func() { err = errors.Join(err, at.CloseState()) }()
	m := &statemove.Mover{From: mine, To: other}
	if c.into {
		m.From, m.To = other, mine
	}
	return c.do(m, ctx, did)
}

// OpenOther opens a state next to the configured one.
func OpenOther(o *app.Flags, ctx context.Context, f *configfile.File, mustExist bool, log *slog.Logger) (statemove.State, error) {
	if mustExist && !app.IsDatabase(o.State) {
		if _, err := os.Stat(filepath.Join(o.State, "runs")); err != nil {
			return statemove.State{}, fmt.Errorf("%s is not a state directory: %w", o.State, err)
		}
	}
	state, err := o.StateDir(f)
	if err != nil {
		return statemove.State{}, err
	}
	cfg := host.Config{Logger: log}
	if err := o.OpenState(ctx, f, state, &cfg); err != nil {
		return statemove.State{}, err
	}
	return carried(o, state, &cfg)
}

func printCarried(w io.Writer, o statemove.Outcome) error {
	line := fmt.Sprintf("%s %s %s", o.Kind, o.ID, o.What)
	if o.Reason != "" {
		line += ": " + o.Reason
	}
	_, err := terminal.Fprintln(w, terminal.Line(line))
	return err
}

// left is the exit status of a command that has left something.
func left(outcomes []statemove.Outcome) error {
	for _, o := range outcomes {
		if o.What == statemove.Left {
			return cli.ExitError{Code: cli.ExitFailed}
		}
	}
	return nil
}
