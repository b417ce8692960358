package runcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/terminal"
)

// undoer are the flags of quoin undo.
type undoer struct {
	app.Flags
	dryRun bool
	skip   []string
}

func NewUndo() *cobra.Command {
	var u undoer
	cmd := &cobra.Command{
		Use:   "undo [RUN_ID|last]",
		Short: "Undo what the calls of a run have changed",
		Long: `Undo what the calls of a run that has ended have changed, as far as the tools have
said how: call the inverse of each call, the newest first, each once. Rules, hooks and
approvals hold for these calls. Undo stops at the first that fails or waits for a person;
the same command goes on there, also after a crash. --dry-run only shows what would
happen, and what cannot be undone. Without RUN_ID, list such runs, also those that are
undone already, and how far the effects of each have come.
The state directory, the plugins and the configuration must be those of exec.
Exit status: 0 undone, 1 an inverse has failed, 2 usage, 3 an inverse waits.`,
		Example: `  quoin undo
  quoin undo last --dry-run
  quoin undo run_0123456789abcdef0123456789abcdef
  quoin undo run_0123456789abcdef0123456789abcdef --skip bridge:call:3
  quoin undo run_0123456789abcdef0123456789abcdef --server http://127.0.0.1:8787`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return u.with(cmd, func(e effects) error {
				if len(args) == 0 {
					return u.list(cmd, e)
				}
				return u.undo(cmd, e, args[0])
			})
		},
	}
	u.BindHost(cmd, true)
	u.Remote.Bind(cmd)
	f := cmd.Flags()
	f.StringVar(&u.Session, "session", "", "only runs of this session (default: of all)")
	u.BindCaller(cmd)
	f.BoolVar(&u.dryRun, "dry-run", false, "show what would be undone, and call nothing")
	f.StringArrayVar(&u.skip, "skip", nil, "leave what this call has changed as it is; may be repeated")
	u.BindJSON(cmd)
	cmd.ValidArgsFunction = cli.CompleteFirst(u.names)
	return cmd
}

// effects are the effects of runs of a state directory, or of a server.
type effects interface {
	ListEffects(context.Context, host.Session) ([]*runstore.Effects, error)
	Effects(ctx context.Context, s host.Session, runID string) (*host.RunEffects, error)
	Undo(ctx context.Context, s host.Session, runID string, o host.UndoOptions) (*host.RunEffects, error)
}

var (
	_ effects = ownEffects{}
	_ effects = (*client.Client)(nil)
)

// ownEffects are the effects of a state directory. An empty session is all of them.
type ownEffects struct{ *host.Host }

func (o ownEffects) ListEffects(ctx context.Context, s host.Session) ([]*runstore.Effects, error) {
	list, err := o.Host.Effects().List(ctx)
	if s == (host.Session{}) {
		return list, err
	}
	var out []*runstore.Effects
	for _, j := range list {
		if s.Covers(j.Session) {
			out = append(out, j)
		}
	}
	return out, err
}

func (o ownEffects) Effects(ctx context.Context, s host.Session, runID string) (*host.RunEffects, error) {
	j, err := o.Host.Effects().Get(ctx, runID)
	if err == nil && s != (host.Session{}) && !s.Covers(j.Session) {
		return nil, errors.New("the run belongs to a different session")
	}
	return j, err
}

func (o ownEffects) Undo(ctx context.Context, s host.Session, runID string, opts host.UndoOptions) (*host.RunEffects, error) {
	j, err := o.Effects(ctx, s, runID)
	if err != nil {
		return nil, err
	}
	return o.Host.Effects().Undo(ctx, j.Session, runID, opts)
}

// with calls do with the effects of the server, or of a host of this process.
func (u *undoer) with(cmd *cobra.Command, do func(effects) error) error {
	return u.Use(cmd, func(c *client.Client) error { return do(c) }, func() error {
		return u.WithHost(cmd, func(h *host.Host) error { return do(ownEffects{h}) })
	})
}

// newest is how the command line writes the newest run.
const newest = "last"

func (u *undoer) undo(cmd *cobra.Command, e effects, runID string) error {
	ctx := cmd.Context()
	if runID == newest {
		list, err := e.ListEffects(ctx, u.Caller())
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errors.New("there is no run that can be undone: no tool that has been called says how its calls are undone")
		}
		runID = list[len(list)-1].RunID
	}
	if u.dryRun {
		j, err := e.Effects(ctx, u.Caller(), runID)
		if err != nil {
			return fmt.Errorf("%w (run %s; quoin undo lists those that can be undone)", err, terminal.Short(runID))
		}
		return u.print(cmd, j)
	}
	o := host.UndoOptions{Skip: u.skip}
	for {
		j, err := e.Undo(ctx, u.Caller(), runID, o)
		if err != nil {
			return fmt.Errorf("%w (run %s; quoin undo lists those that can be undone)", err, terminal.Short(runID))
		}
		if j.Status == host.UndoWaiting && j.Waiting.Reason == codemode.ReasonPendingTools && ctx.Err() == nil {
			continue // an inverse takes long
		}
		if err := u.print(cmd, j); err != nil {
			return err
		}
		switch j.Status {
		case host.UndoWaiting:
			return cli.ExitError{Code: cli.ExitWaiting}
		case host.UndoStopped:
			return cli.ExitError{Code: cli.ExitFailed}
		}
		return nil
	}
}

// print shows the effects of a run in the order in which they are undone.
func (u *undoer) print(cmd *cobra.Command, j *host.RunEffects) error {
	return u.Print(cmd, j, func(b *strings.Builder) {
		last := slices.Clone(j.Effects)
		slices.Reverse(last)
		output.Table(b, "CALL\tTOOL\tSTATE\tINVERSE", last, func(e runstore.Effect) []any {
			return []any{e.CallID, terminal.Short(e.Tool), undoWord(&e), inverseCell(&e)}
		})
		printNext(b, j)
	})
}

func inverseCell(e *runstore.Effect) string {
	switch e.State {
	case runstore.EffectDone, runstore.EffectReverted:
		return terminal.Short(e.Inverse + " " + string(e.Input))
	}
	if e.Reason != "" {
		return terminal.Line(e.Reason)
	}
	return "-"
}

// printNext says what is left to do.
func printNext(b *strings.Builder, j *host.RunEffects) {
	if j.Omitted > 0 {
		terminal.Fprintf(b, "%d more calls may have changed something that is not undone\n", j.Omitted)
	}
	terminal.Fprintln(b, map[host.UndoStatus]string{
		host.UndoDone:    "nothing is left that can be undone",
		host.UndoOpen:    "undo it with: quoin undo " + j.RunID,
		host.UndoStopped: "stopped: go on with quoin undo " + j.RunID + ", or leave a call as it is with --skip CALL",
		host.UndoWaiting: "waiting: quoin approvals list shows for whom; go on with quoin undo " + j.RunID,
	}[j.Status])
}

// names are the runs that can be undone.
func (u *undoer) names(cmd *cobra.Command) (names []cobra.Completion, _ error) {
	err := u.with(cmd, func(e effects) error {
		list, err := e.ListEffects(cmd.Context(), u.Caller())
		for _, j := range list {
			names = append(names, cobra.CompletionWithDesc(j.RunID, output.OwnerName(j.Session)))
		}
		return err
	})
	return names, err
}
