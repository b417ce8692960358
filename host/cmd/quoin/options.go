package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/configfile"
	"github.com/quoinhq/quoin/host/postgres"
	"github.com/quoinhq/quoin/internal/terminal"
)

// options are the flags that say which host to make.
type options struct {
	plugins, config, state, session string
	agent, sessionKey, turn         string   // of the session, in addition to its id
	set                             []string // of --set
	engine, logLevel, logFormat     cli.Choice
	bodies                          bool // trajectories hold inputs and outputs
	saysWhy                         bool // what is printed says what is wrong: the log need not
	show                            output.ResultPrinter
	remote                          remote
	database                        *postgres.DB // what openState has opened, or nil
}

// bind adds the flags to a command; cells says whether it runs any.
func (o *options) bind(cmd *cobra.Command, cells bool) {
	o.bindHost(cmd, cells)
	cmd.Flags().StringVar(&o.session, "session", defaultSession, "session that asks; a run belongs to one")
	o.remote.bind(cmd)
}

// bindHost adds those of the flags that make a host of this process.
func (o *options) bindHost(cmd *cobra.Command, cells bool) {
	f := cmd.Flags()
	f.StringVar(&o.plugins, "plugins", "", "directory of plugins, or none (default: the user's, else plugins next to the executable)")
	o.bindConfig(cmd)
	o.bindEngine(cmd)
	o.bindLog(cmd)
	if cells {
		o.bindState(cmd)
		f.BoolVar(&o.bodies, "record-bodies", false, "record inputs and outputs in the trajectory, redacted and capped")
	}
}

// bindState adds the flag that says where what outlives a process is.
func (o *options) bindState(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.state, "state", "", "directory of suspended runs, trajectories and plugin data, or the database of several hosts, postgres://... (default: in the user's state home)")
}

// caller is the session that the flags name.
func (o *options) caller() host.Session {
	return host.Session{AgentID: o.agent, SessionKey: o.sessionKey, SessionID: o.session, TurnID: o.turn}
}

// bindCaller adds the flags that name the session in addition to its id.
func (o *options) bindCaller(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.agent, "agent", "", "agent of the session that asks")
	f.StringVar(&o.sessionKey, "session-key", "", "session key of the session that asks")
	f.StringVar(&o.turn, "turn", "", "agent turn that asks")
}

// runCell runs one cell on the server, or on a host made for it, and prints the
// result.
func (o *options) runCell(cmd *cobra.Command, cell cellOf) error {
	c, err := o.remote.client(cmd)
	if err != nil {
		return o.printNotStarted(cmd, err)
	}
	if c != nil {
		defer c.Close()
		res, err := o.converse(cmd, c, nil, cell)
		if err != nil {
			res = failedServer(err)
		}
		outcome := o.show.Print(cmd, res)
		o.hint(cmd, c, res)
		return outcome
	}
	h, rec, err := o.openHost(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return o.printNotStarted(cmd, err)
	}
	own := &delivering{inProcess: inProcess{h}}
	var calls *output.Calls
	if o.show.ForPeople(cmd) {
		calls = output.FollowCalls(h, cmd.ErrOrStderr())
	}
	res, err := o.converse(cmd, own, calls, cell)
	calls.Done()
	if err != nil {
		return errors.Join(err, h.Close(), rec.close())
	}
	outcome := o.show.Print(cmd, res)
	own.printed(outcome)
	// The result is out; what is left is to let calls in flight reach the store. Questions
	// of calls that end with this host can no longer be answered then.
	closed := errors.Join(h.Close(), rec.closeSinks())
	o.hint(cmd, own.inProcess, res) // which looks at the run
	if err := errors.Join(closed, o.closeState()); err != nil {
		terminal.Fprintf(cmd.ErrOrStderr(), "quoin: closing: %v\n", err)
	}
	return outcome
}

// cellOf runs a program, or goes on with one.
type cellOf func(context.Context, backend, host.Session) (*host.Result, error)

// converse runs a cell to its result. A person at the terminal is asked what its run waits
// for, and the run goes on. The calls on the screen make way for that.
func (o *options) converse(cmd *cobra.Command, b interface {
	backend
	decisions
}, calls *output.Calls, cell cellOf) (*host.Result, error) {
	ctx, ask := cmd.Context(), o.asker(cmd, b)
	if ask != nil {
		ctx = host.WithAskingCaller(ctx)
	}
	for {
		res, err := cell(ctx, b, o.caller())
		if err != nil || ask == nil || res.Status != host.StatusWaiting || res.Reason != host.ReasonApproval {
			return res, err
		}
		calls.Show(false)
		err = output.PrintOutput(cmd.OutOrStdout(), res)
		if res.Output = nil; err != nil || !ask.askAll(res.RunID) {
			return res, err
		}
		calls.Show(true)
		cell = func(ctx context.Context, b backend, s host.Session) (*host.Result, error) {
			return b.WaitFor(ctx, s, res.RunID, 0)
		}
	}
}

// printNotStarted prints the result of a cell that could not start, unless it is the
// command line that makes no sense.
func (o *options) printNotStarted(cmd *cobra.Command, err error) error {
	var usage cli.UsageError
	if errors.As(err, &usage) {
		return err
	}
	return o.show.Print(cmd, failedStart(err))
}

// failedStart is the result of a host that did not come up.
func failedStart(err error) *host.Result {
	res := &host.Result{Status: host.StatusFailed, Code: host.CodeUnavailable, Phase: host.PhaseHost, Error: err.Error()}
	var config *configfile.Error
	var ending *guestrt.WorkerError
	var input cli.InputError
	switch {
	case errors.As(err, &config):
		res.Code, res.Reason, res.Phase = host.CodeInvalidInput, host.ReasonInvalidConfig, host.PhaseInput
	case errors.As(err, &input):
		res.Code, res.Reason, res.Phase = host.CodeInvalidInput, input.Reason, host.PhaseInput
	case errors.As(err, &ending):
		res.Error = ending.Message
	}
	res.Telemetry = codemode.NewTelemetry()
	return res
}

// withHost calls do with a host of this process.
func (o *options) withHost(cmd *cobra.Command, do func(*host.Host) error) error {
	h, rec, err := o.openHost(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	return errors.Join(do(h), h.Close(), rec.close())
}

// openHost makes the host that the flags ask for, and what records its runs.
func (o *options) openHost(ctx context.Context, stderr io.Writer) (*host.Host, *recorders, error) {
	f, err := o.load()
	if err != nil {
		return nil, nil, err
	}
	cfg := o.hostConfig(f, logger(f, stderr, slog.LevelWarn))
	cfg.Cluster.Listen, cfg.Cluster.Advertise = "", "" // the server of this machine answers other hosts
	if !f.Given("tools.codeMode.isolation") {
		// The user chose this one cell; the result says how it was isolated.
		cfg.Settings.Isolation = host.IsolationBestEffort
	}
	if !f.Given("guest.preparedWorkers") {
		cfg.Guests.Prepared = 1
	}
	if err := o.addDirectories(ctx, f, &cfg); err != nil {
		return nil, nil, err
	}
	rec, err := o.openRecorders(ctx, f, &cfg)
	if err != nil {
		return nil, nil, err
	}
	h, err := host.New(ctx, cfg)
	if err != nil {
		return nil, nil, errors.Join(err, rec.close())
	}
	if h.Isolation().Tier == "D" && !cfg.Settings.Disabled {
		cfg.Logger.Warn("programs run without a sandbox to rely on; quoin doctor says what is missing")
	}
	return h, rec, nil
}

// addDirectories adds where the plugins are and what outlives the process.
func (o *options) addDirectories(ctx context.Context, f *configfile.File, cfg *host.Config) error {
	dir, err := o.pluginDir(f)
	if err != nil {
		return err
	}
	state, err := o.stateDir(f)
	if err != nil {
		return err
	}
	if err := paths.CheckState(state); err != nil {
		return err
	}
	if cfg.Origin, err = o.origin(f, dir, state); err != nil {
		return err
	}
	cfg.Plugins.Dir, cfg.Plugins.DataDir = dir, filepath.Join(state, "plugins")
	cfg.MCP.PinDir = pinDir(state)
	if err := o.openState(ctx, f, state, cfg); err != nil {
		return err
	}
	return o.completeShell(cfg, state)
}

// pinDir is where it is kept what the tools of MCP servers have to be.
func pinDir(state string) string { return filepath.Join(state, "mcp-pins") }

// hostConfig is what the file says of a host. A file that the command line does not
// name sets limits, and does not keep the command from running cells unless it says so.
func (o *options) hostConfig(f *configfile.File, log *slog.Logger) host.Config {
	cfg := f.Config()
	cfg.Logger = log
	for _, w := range f.Report.Warnings {
		log.Warn("configuration: " + w.String())
	}
	if (o.config == "" || o.config == paths.None) && !f.Given("tools.codeMode.enabled") {
		cfg.Settings.Disabled = false
	}
	return cfg
}

// pluginDir returns the plugin directory in force, or "".
func (o *options) pluginDir(f *configfile.File) (string, error) {
	dir, err := paths.Plugins(o.plugins, f.PluginDir)
	if err != nil {
		return "", cli.AsInput(err, host.ReasonInvalidConfig)
	}
	return dir, nil
}
