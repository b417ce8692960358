package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/internal/shell/machine"
	"github.com/quoinhq/quoin/internal/shell/node"
	"github.com/quoinhq/quoin/internal/shell/settings"
)

// newShellWorker is what ssh starts on a node.
func newShellWorker() *cobra.Command {
	var o app.Flags
	cmd := &cobra.Command{
		Use:   node.WorkerCommand,
		Short: "Run one shell command of another machine, which has come in by ssh",
		Long: `Judge and run one shell command for the Quoin of another machine, whose plugins.shell.nodes
has this one. It is not for people: that Quoin starts it by ssh, and talks to it over its
standard input and output.

plugins.shell of the configuration of this machine says what may run. The other machine can
ask for less, not for more.
Exit status: 0 answered, 1 failed, 2 usage.`,
		Example: `  quoin shell-worker
  quoin shell-worker --config /etc/quoin/node.json5`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			w, stop, err := shellWorker(&o, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, stop()) }()
			signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // else the end of ssh is the end of this process
			return w.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	o.BindConfig(cmd)
	cmd.Flags().StringVar(&o.State, "state", "", "state directory (default: in the user's state home)")
	return cmd
}

// nodeWork is where commands of other machines run that name no directory, in the state
// directory.
const nodeWork = "node-work"

// shellWorker is what the configuration makes of the worker. stop ends what it needs.
func shellWorker(o *app.Flags, log *slog.Logger) (_ *node.Worker, stop func() error, err error) {
	f, err := o.Load()
	if err != nil {
		return nil, nil, err
	}
	raw, err := f.ShellConfig()
	if err != nil {
		return nil, nil, err
	}
	s, err := settings.Parse(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("plugins.shell: %w", err)
	}
	state, err := o.StateDir(f)
	if err == nil {
		err = paths.CheckState(state)
	}
	if err == nil {
		state, err = filepath.Abs(state)
	}
	if err != nil {
		return nil, nil, err
	}
	w := &node.Worker{Settings: s, Version: host.Version, Workdir: s.Workdir}
	if s.Workdir == "" {
		w.Workdir = filepath.Join(state, nodeWork)
		if err := os.MkdirAll(w.Workdir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	switch s.Host {
	case settings.Gateway:
		w.Launcher = launch.New()
		return w, func() error { return nil }, nil
	case settings.Node:
		return nil, nil, errors.New("plugins.shell.host: commands of another machine cannot run on host node: set it to sandbox or gateway")
	}
	hidden, err := o.HiddenPaths(state, nodeWork)
	if err != nil {
		return nil, nil, err
	}
	hidden = slices.DeleteFunc(hidden, func(path string) bool { return path == "" })
	sandbox, err := machine.Sandbox(s, w.Workdir, hidden, log)
	if err != nil {
		return nil, nil, fmt.Errorf("plugins.shell.sandbox: %w", err)
	}
	w.Launcher = sandbox
	return w, sandbox.Close, nil
}
