package runcmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/host/sqlite"
	"github.com/quoinhq/quoin/internal/terminal"
)

func NewRuns() *cobra.Command {
	cmd := newRunsList()
	cmd.Use, cmd.Short = "runs", "List, show and abort runs that have not ended"
	cmd.Long = `List, show and abort the runs that have not ended: those of a state directory,
whatever their session, or those of a server. A run that a server drives is shown
by a server as it is, and by the state directory as it was last stored. A state
directory also has those that are done while no one has fetched their results.`
	cmd.Example = `  quoin runs
  quoin runs show run_0123456789abcdef0123456789abcdef
  quoin runs abort run_0123456789abcdef0123456789abcdef
  quoin runs list --json --server http://127.0.0.1:8787`
	cmd.AddCommand(newRunsList(), newRunsShow(), newRunsAbort())
	return cmd
}

// keeper are the flags of these commands.
type keeper struct{ app.Flags }

func (k *keeper) bind(cmd *cobra.Command) {
	k.BindConfig(cmd)
	f := cmd.Flags()
	f.StringVar(&k.State, "state", "", "state directory of the command that suspended the runs, or the database of several hosts (default: in the user's state home)")
	f.StringVar(&k.Session, "session", "", "only runs of this session (default: of all)")
	k.BindJSON(cmd)
	k.BindCaller(cmd)
	k.Remote.Bind(cmd)
}

// suspended are the runs of a state directory, or of a server.
type suspended interface {
	Runs(context.Context, host.Session) ([]codemode.RunInfo, error)
	Run(context.Context, host.Session, string) (codemode.RunInfo, error)
	EndRun(context.Context, host.Session, string) (*host.Result, error)
}

var (
	_ suspended = ownRuns{}
	_ suspended = (*client.Client)(nil)
)

// ownRuns are the runs of a state directory. An empty session is all of them.
type ownRuns struct {
	*host.Host
	store runstore.Store
}

func (o ownRuns) Runs(ctx context.Context, s host.Session) ([]codemode.RunInfo, error) {
	if s == (host.Session{}) {
		return o.Host.Runs().All(ctx)
	}
	return o.Host.Runs().List(ctx, s)
}

// done are the runs of a directory that have ended, and no one has fetched their results.
func (o ownRuns) done(ctx context.Context, s host.Session) (list []codemode.RunInfo, _ error) {
	dir, ok := o.store.(*sqlite.DB)
	if !ok {
		return nil, nil // a database may have a hundred thousand: quoin state ls lists them
	}
	items, err := dir.Items(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range items {
		if i.Kind != runstore.ItemResult {
			continue
		}
		// A result that someone has fetched since, or that is damaged, does not wait.
		if e, err := dir.Ended(ctx, i.ID); err == nil && (s == host.Session{} || s.Covers(e.Session)) {
			list = append(list, codemode.RunInfo{ID: e.ID, Session: e.Session, Status: "done", Reason: "result_kept", Expires: e.Expires, PendingToolCalls: []codemode.PendingCall{}})
		}
	}
	return list, nil
}

func (o ownRuns) Run(ctx context.Context, s host.Session, id string) (codemode.RunInfo, error) {
	info, err := o.Host.Runs().Get(ctx, id)
	if err != nil || s == (host.Session{}) {
		return info, err
	}
	owner := info.Session
	if s.TurnID == "" {
		owner.TurnID = ""
	}
	if s != owner {
		return info, errors.New("the run belongs to a different session")
	}
	return info, nil
}

func (o ownRuns) EndRun(ctx context.Context, s host.Session, id string) (*host.Result, error) {
	info, err := o.Run(ctx, s, id)
	if err != nil {
		return nil, err
	}
	return o.Abort(ctx, info.Session, id), nil
}

// with calls do with the runs of the server, or of a host that is made for the state
// directory and has neither plugins nor MCP servers.
func (k *keeper) with(cmd *cobra.Command, do func(suspended) error) error {
	return k.Use(cmd, func(c *client.Client) error { return do(c) }, func() error { return k.withOwn(cmd, do) })
}

func (k *keeper) withOwn(cmd *cobra.Command, do func(suspended) error) error {
	f, state, err := k.Existing()
	if err != nil {
		return err
	}
	full := k.HostConfig(f, app.Logger(f, cmd.ErrOrStderr(), slog.LevelError))
	cfg := host.Config{Guests: full.Guests, Logger: full.Logger}
	cfg.Guests.Prepared = 1
	cfg.Settings.Isolation = host.IsolationBestEffort // no cell runs
	if err := k.OpenState(cmd.Context(), f, state, &cfg); err != nil {
		return err
	}
	rec, err := k.OpenRecorders(cmd.Context(), f, &cfg)
	if err != nil {
		return err
	}
	h, err := host.New(context.WithoutCancel(cmd.Context()), cfg)
	if err != nil {
		return errors.Join(err, rec.Close())
	}
	return errors.Join(do(ownRuns{h, cfg.Store}), h.Close(), rec.Close())
}

func newRunsList() *cobra.Command {
	var k keeper
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs that have not ended",
		Example: `  quoin runs list
  quoin runs list --session alice --json
  quoin runs list --server http://127.0.0.1:8787`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return k.with(cmd, func(s suspended) error {
				list, err := s.Runs(cmd.Context(), k.Caller())
				if err != nil {
					return err
				}
				if own, ok := s.(ownRuns); ok {
					done, err := own.done(cmd.Context(), k.Caller())
					if err != nil {
						return err
					}
					list = append(list, done...)
				}
				return k.Print(cmd, list, func(b *strings.Builder) { listSuspended(b, list, time.Now()) })
			})
		},
	}
	k.bind(cmd)
	return cmd
}

// listSuspended prints runs, and how many no guest can continue.
func listSuspended(b *strings.Builder, list []codemode.RunInfo, now time.Time) {
	foreign := 0
	output.Table(b, "RUN\tSTATUS\tREASON\tAGE\tEXPIRES\tSIZE\tBUILD\tSESSION", list, func(r codemode.RunInfo) []any {
		if r.Foreign {
			foreign++
		}
		age := "-"
		if !r.Created.IsZero() {
			age = now.Sub(r.Created).Round(time.Second).String()
		}
		return []any{r.ID, r.Status, r.Reason, age, expiry(r, now), output.KiB(r.ImageBytes), build(r), terminal.Short(output.OwnerName(r.Session))}
	})
	if foreign > 0 {
		terminal.Fprintf(b, "%d of %d belong to another build of the guest, which is not here. A wait replays them on this one if that is possible, and quoin state upgrade says which are not: these need that quoin-guest in guest.builds\n", foreign, len(list))
	}
}

func expiry(r codemode.RunInfo, now time.Time) string {
	if r.Expires.IsZero() {
		return "-"
	}
	return "in " + r.Expires.Sub(now).Round(time.Second).String()
}

// build is the start of a build id, and the engine unless it is the default one.
func build(r codemode.RunInfo) string {
	short := r.GuestBuild[:min(len(r.GuestBuild), 12)]
	if guestrt.EngineOf(r.GuestEngine) == host.EngineNative {
		short += " native"
	}
	if r.Foreign {
		return short + " (other)"
	}
	return short
}

func newRunsShow() *cobra.Command {
	var k keeper
	cmd := &cobra.Command{
		Use:   "show RUN_ID",
		Short: "Show what a run waits for, and the command that goes on with it",
		Example: `  quoin runs show run_0123456789abcdef0123456789abcdef
  quoin runs show run_0123456789abcdef0123456789abcdef --json`,
		Args: cli.OneArg("RUN_ID", "which quoin runs list shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return k.with(cmd, func(s suspended) error {
				r, err := s.Run(cmd.Context(), k.Caller(), args[0])
				if err != nil {
					return fmt.Errorf("%w (run %s; quoin runs list shows those there are)", err, terminal.Short(args[0]))
				}
				return k.Print(cmd, r, func(b *strings.Builder) { k.show(b, r) })
			})
		},
	}
	cmd.ValidArgsFunction = cli.CompleteFirst(k.names)
	k.bind(cmd)
	return cmd
}

func (k *keeper) show(b *strings.Builder, r codemode.RunInfo) {
	now := time.Now()
	where := r.Origin
	if far := k.Remote.Args(); far != nil {
		where = far
	}
	fields := [][2]string{
		{"id", r.ID}, {"status", string(r.Status)}, {"reason", string(r.Reason)}, {"language", r.Language},
		{"session", terminal.Short(output.OwnerName(r.Session))}, {"agent turn", terminal.Short(r.Session.TurnID)},
		{"created", r.Created.UTC().Format(time.RFC3339)}, {"age", now.Sub(r.Created).Round(time.Second).String()},
		{"expires", expiry(r, now)}, {"size", output.KiB(r.ImageBytes)}, {"guest build", build(r)},
	}
	for _, c := range r.PendingToolCalls {
		fields = append(fields, [2]string{"pending", c.ID + " " + terminal.Short(c.Tool)})
	}
	if r.Status == codemode.RunWaiting && !r.Foreign {
		fields = append(fields, [2]string{"go on with", app.WaitLine(r.ID, r.Session, where)})
	}
	output.Fields(b, fields)
}

func newRunsAbort() *cobra.Command {
	var k keeper
	cmd := &cobra.Command{
		Use:   "abort RUN_ID",
		Short: "End a run: its calls are cancelled, and it is forgotten",
		Long: `End a run: its calls are cancelled, and it is forgotten. Whether it had called
tools is in the result. Exit status: 0 aborted, 1 there is nothing to abort, 2 usage.`,
		Example: `  quoin runs abort run_0123456789abcdef0123456789abcdef
  quoin runs abort run_0123456789abcdef0123456789abcdef --server http://127.0.0.1:8787`,
		Args: cli.OneArg("RUN_ID", "which quoin runs list shows"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return k.with(cmd, func(s suspended) error {
				res, err := s.EndRun(cmd.Context(), k.Caller(), args[0])
				if err != nil {
					return fmt.Errorf("%w (run %s; quoin runs list shows those there are)", err, terminal.Short(args[0]))
				}
				err = k.Print(cmd, res, func(b *strings.Builder) {
					terminal.Fprintln(b, res.Error+map[bool]string{true: " It had called tools."}[res.Code == codemode.CodeAborted && res.Dispatched])
				})
				return cli.Failed(err, res.Code != codemode.CodeAborted)
			})
		},
	}
	cmd.ValidArgsFunction = cli.CompleteFirst(k.names)
	k.bind(cmd)
	return cmd
}

// names are the runs that have not ended.
func (k *keeper) names(cmd *cobra.Command) (names []cobra.Completion, _ error) {
	err := k.with(cmd, func(runs suspended) error {
		list, err := runs.Runs(cmd.Context(), k.Caller())
		for _, r := range list {
			names = append(names, cobra.CompletionWithDesc(r.ID, strings.TrimSpace(string(r.Status)+" "+string(r.Reason))))
		}
		return err
	})
	return names, err
}
