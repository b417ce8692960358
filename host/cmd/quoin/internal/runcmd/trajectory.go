package runcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/terminal"
)

// newestRun stands for the run of the session that started last.
const newestRun = "last"

func NewTrajectory() *cobra.Command {
	var o app.Flags
	var asJSON bool
	var transcript string
	cmd := &cobra.Command{
		Use:   "trajectory [RUN]",
		Short: "Show what a run did, call by call",
		Long: `Show the nested calls of a run as a tree with timings, under the exec or wait in
which they started. RUN is the id of a run or "last"; without it the newest runs of
the session are listed. exec and wait record every run in the state directory, or
in the database of --state, without inputs and outputs unless they were told to
(--record-bodies).

The id of a run is enough, whatever its session; with --session, and on a server,
only the session of a run can look at it. A file that a crash has torn is shown up
to there. Exit status: 0 shown, 1 there is nothing to show, 2 usage.`,
		Example: `  quoin trajectory
  quoin trajectory last
  quoin trajectory run_0123456789abcdef0123456789abcdef --json
  quoin trajectory last --transcript anthropic --session alice
  quoin trajectory last --server http://127.0.0.1:8787`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			shape := trajectory.Shape(transcript)
			switch {
			case asJSON && transcript != "":
				return cli.Usagef("both --json and --transcript are given: choose one")
			case transcript != "" && len(args) == 0:
				return cli.Usagef("--transcript needs a run: give its id, or last")
			case transcript != "" && shape != trajectory.ShapeOpenAI && shape != trajectory.ShapeAnthropic:
				return cli.Usagef("--transcript is %q, expected %s or %s", transcript, trajectory.ShapeOpenAI, trajectory.ShapeAnthropic)
			}
			d, done, err := trajectories(&o, cmd)
			if err != nil {
				return err
			}
			defer done()
			s := codemode.Session{SessionID: o.Session}
			if len(args) == 0 {
				list, err := d.List(s)
				if err != nil {
					return err
				}
				return output.Print(cmd.OutOrStdout(), asJSON, append([]trajectory.Summary{}, list...), func(b *strings.Builder) { listRuns(b, list) })
			}
			r, err := readRun(d, s, args[0])
			if err != nil {
				return err
			}
			return showRun(cmd, r, shape, asJSON)
		},
	}
	f := cmd.Flags()
	cmd.ValidArgsFunction = cli.CompleteFirst(runs(&o, false))
	o.BindConfig(cmd)
	f.StringVar(&o.State, "state", "", "directory of suspended runs and plugin data (default: in the user's state home)")
	f.StringVar(&o.Session, "session", "cli", "session the run belongs to; of runs that are listed, and of last")
	o.Remote.Bind(cmd)
	f.BoolVar(&asJSON, "json", false, "print JSON: the events of the run, or the list of runs")
	f.StringVar(&transcript, "transcript", "", "print the run as messages of a conversation: openai or anthropic")
	cli.CompleteFlag(cmd, "transcript", cobra.FixedCompletions([]cobra.Completion{string(trajectory.ShapeOpenAI), string(trajectory.ShapeAnthropic)}, cli.NoFiles))
	return cmd
}

// trajectories returns the trajectories of the server, or of this system. Call done after use.
func trajectories(o *app.Flags, cmd *cobra.Command) (_ gateway.Trajectories, done func(), _ error) {
	c, err := o.Remote.Client(cmd)
	if err != nil {
		return nil, nil, err
	}
	if c != nil {
		return farTrajectories{cmd.Context(), c}, c.Close, nil
	}
	d, done, err := ownTrajectories(o, cmd)
	if err != nil {
		return nil, nil, err
	}
	if !cmd.Flags().Changed("session") {
		return everySession{d}, done, nil
	}
	return d, done, nil
}

// everySession finds a run by its id alone: a user who can read the state
// may look at all of them.
type everySession struct{ app.TrajectoryStore }

func (d everySession) Read(_ codemode.Session, runID string) (*trajectory.Run, error) {
	return d.Find(runID)
}

// farTrajectories are the trajectories of a server.
type farTrajectories struct {
	ctx context.Context // of the command, which makes only this request
	c   *client.Client
}

func (t farTrajectories) Read(s codemode.Session, runID string) (*trajectory.Run, error) {
	return t.c.Trajectory(t.ctx, s, runID)
}

func (t farTrajectories) List(s codemode.Session) ([]trajectory.Summary, error) {
	return t.c.Trajectories(t.ctx, s)
}

// ownTrajectories opens the trajectories of a database, or of a directory, which it does
// not create. Call done after use.
func ownTrajectories(o *app.Flags, cmd *cobra.Command) (_ app.TrajectoryStore, done func(), _ error) {
	f, state, err := o.Existing()
	if err != nil {
		return nil, nil, err
	}
	if err := o.OpenDatabase(cmd.Context(), f, state, app.Logger(f, cmd.ErrOrStderr(), slog.LevelWarn)); err != nil {
		return nil, nil, err
	}
	d, err := o.OpenTrajectories(f)
	if err != nil {
		return nil, nil, errors.Join(err, o.CloseState())
	}
	return d, func() {
		if err := errors.Join(d.Close(), o.CloseState()); err != nil {
			terminal.Fprintf(cmd.ErrOrStderr(), "quoin: closing: %v\n", err)
		}
	}, nil
}

// readRun reads a run by its id, or the newest of the session.
func readRun(d gateway.Trajectories, s codemode.Session, id string) (*trajectory.Run, error) {
	if id == newestRun {
		list, err := d.List(s)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("session %q has no recorded run", s.SessionID)
		}
		id = list[0].RunID
	}
	r, err := d.Read(s, id)
	switch {
	case errors.Is(err, trajectory.ErrWrongSession):
		return nil, fmt.Errorf("%w: name it with --session", err)
	case errors.Is(err, trajectory.ErrUnknownRun):
		return nil, fmt.Errorf("%w; quoin trajectory lists those of the session", err)
	}
	return r, err
}

// showRun prints a run. What is wrong with its file is said on standard error.
func showRun(cmd *cobra.Command, r *trajectory.Run, shape trajectory.Shape, asJSON bool) error {
	out := cmd.OutOrStdout()
	if shape == "" && !asJSON {
		if err := r.WriteTree(out); err != nil {
			return err
		}
		return explainFailure(out, r)
	}
	if r.Torn != nil {
		terminal.Fprintf(cmd.ErrOrStderr(), "quoin: %v; what comes after it is not shown\n", r.Torn)
	}
	if asJSON {
		return output.PrintJSON(out, r.Events)
	}
	messages, err := r.Transcript(shape)
	if err != nil {
		return err
	}
	return output.PrintJSON(out, messages)
}

// explainFailure prints all that was recorded of what a failed run said.
func explainFailure(w io.Writer, r *trajectory.Run) error {
	segments := r.Segments()
	if len(segments) == 0 || segments[len(segments)-1].Message == "" {
		return nil
	}
	text := "\n" + segments[len(segments)-1].Message + "\n"
	if segments[0].Input == nil {
		text += "The program was not recorded: quoin exec --record-bodies, or trajectory.recordBodies of the configuration, records programs, inputs and outputs.\n"
	}
	_, err := io.WriteString(w, terminal.Text(text))
	return err
}

func listRuns(b *strings.Builder, list []trajectory.Summary) {
	output.Table(b, "RUN\tSTARTED\tTOOK\tSTATUS\tCALLS\tFAILED", list, func(r trajectory.Summary) []any {
		status := r.Status
		if r.Code != "" {
			status += " (" + output.FirstLine(r.Code) + ")"
		}
		return []any{r.RunID, r.Start.UTC().Format(time.RFC3339), r.Duration.Round(10 * time.Microsecond), status, r.Calls, r.Failed}
	})
}

// runs are recorded runs of the session, the newest first: all, or those that wait.
func runs(o *app.Flags, waiting bool) func(*cobra.Command) ([]cobra.Completion, error) {
	return func(cmd *cobra.Command) ([]cobra.Completion, error) {
		d, done, err := trajectories(o, cmd)
		if err != nil {
			return nil, err
		}
		defer done()
		list, err := d.List(codemode.Session{SessionID: o.Session})
		var names []cobra.Completion
		for _, r := range list {
			if status := strings.TrimSpace(r.Status + " " + r.Reason); !waiting || r.Status == string(host.StatusWaiting) {
				names = append(names, cobra.CompletionWithDesc(r.RunID, status))
			}
		}
		return names, err
	}
}
