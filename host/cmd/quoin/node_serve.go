package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/process"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/servecmd"
	"github.com/quoinhq/quoin/host/configfile"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/internal/shell/machine"
	"github.com/quoinhq/quoin/internal/shell/node"
	"github.com/quoinhq/quoin/internal/shell/settings"
	"github.com/quoinhq/quoin/internal/terminal"
)

// nodeServing are the flags of node serve.
type nodeServing struct {
	nodeOptions
	listen, addressFile string
}

func newNodeServe() *cobra.Command {
	var v nodeServing
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run shell commands of the gateways that are enrolled",
		Long: `Run shell commands for gateways until SIGINT or SIGTERM. The connection is gRPC over
TLS 1.3, and both sides prove that they have the key that the other knows.

plugins.shell of the configuration of this machine says what may run. A gateway can ask
for less, not for more: what security, allow and ask do not let pass here, no one can
approve there, unless ask says that a person is asked. host says whether commands run in
the sandbox of this machine, which is the default, or next to the server (gateway).

A command lives as long as its gateway listens to it. When the connection is lost, or
the server ends, the command and all that it has started are ended.
Exit status: 0 after a signal, 1 failed, 2 usage.`,
		Example: `  quoin node serve
  quoin node serve --listen 0.0.0.0:8788 --config node.json5`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd) },
	}
	v.bind(cmd, false)
	v.BindLog(cmd)
	f := cmd.Flags()
	f.StringVar(&v.listen, "listen", "127.0.0.1:8788", "address to listen on; port 0 takes a free one")
	f.StringVar(&v.addressFile, "address-file", "", "file to write HOST:PORT to once the node listens")
	return cmd
}

func (v *nodeServing) run(cmd *cobra.Command) (err error) {
	soon, _, release := process.Signals(cmd.Context())
	defer release()
	f, err := v.Load()
	if err != nil {
		return err
	}
	log := app.Logger(f, cmd.ErrOrStderr(), slog.LevelInfo)
	defer process.LogHangups(log)()
	state, err := v.directory(filepath.Clean)
	if err == nil {
		state, err = filepath.Abs(state)
	}
	if err != nil {
		return err
	}
	o, stop, err := v.server(soon, f, state, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	server, err := node.NewServer(*o)
	if err != nil {
		return err
	}
	l, err := servecmd.Listen(v.listen)
	if err != nil {
		return err
	}
	log.Info("serving", "address", l.Addr().String(), "fingerprint", server.Fingerprint(), "host", o.Settings.Host, "tier", o.Tier, "security", o.Settings.Security, "ask", o.Settings.Ask)
	if v.addressFile != "" {
		if err := servecmd.WriteAddress(v.addressFile, l.Addr().String()); err != nil {
			return errors.Join(err, l.Close())
		}
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), "listening on "+l.Addr().String()); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := process.NotifyManager("READY=1"); err != nil {
		log.Warn("the service manager was not told that the node is ready", "error", err)
	}
	return server.Serve(soon, l)
}

// server is what the configuration makes of the node. stop ends what it needs.
func (v *nodeServing) server(ctx context.Context, f *configfile.File, state string, log *slog.Logger) (_ *node.Options, stop func() error, err error) {
	raw, err := f.ShellConfig()
	if err != nil {
		return nil, nil, err
	}
	s, err := settings.Parse(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("plugins.shell: %w", err)
	}
	o := &node.Options{Home: node.OpenHome(nodeHome(state)), Settings: s, Version: host.Version, Workdir: s.Workdir, Log: log}
	if s.Workdir == "" {
		o.Workdir = filepath.Join(state, nodeWork)
		if err := os.MkdirAll(o.Workdir, 0o700); err != nil {
			return nil, nil, err
		}
	}
	switch s.Host {
	case settings.Gateway:
		o.Launcher = launch.New()
		return o, func() error { return nil }, nil
	case settings.Sandbox:
		stop, err := v.sandbox(ctx, o, state)
		return o, stop, err
	}
	return nil, nil, fmt.Errorf("plugins.shell.host: a node cannot run commands on %s: set it to sandbox or gateway", s.Host)
}

// nodeWork is where the commands of a node run that has no other workdir, in its state
// directory.
const nodeWork = "node-work"

// sandbox has the commands of a node run in a sandbox, which hides what is Quoin's own.
func (v *nodeServing) sandbox(ctx context.Context, o *node.Options, state string) (stop func() error, err error) {
	hidden, err := v.HiddenPaths(state, nodeWork)
	if err != nil {
		return nil, err
	}
	hidden = slices.DeleteFunc(hidden, func(path string) bool { return path == "" })
	sandbox, err := machine.Sandbox(o.Settings, o.Workdir, hidden, o.Log)
	if err != nil {
		return nil, fmt.Errorf("plugins.shell.sandbox: %w", err)
	}
	report, err := sandbox.Report(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: %w", err), sandbox.Close())
	}
	o.Launcher, o.Tier = sandbox, report.Tier
	return sandbox.Close, nil
}

func newNodeInvite() *cobra.Command {
	var o nodeOptions
	var valid time.Duration
	var address string
	cmd := &cobra.Command{
		Use:   "invite",
		Short: "Let one gateway enrol at this node",
		Long: `Print a token that lets one gateway enrol, while quoin node serve runs. The token is a
secret: its holder may run commands here, within the policy of this node. It counts once,
and until it expires.
Exit status: 0 printed, 1 not, 2 usage.`,
		Example: `  quoin node invite
  quoin node invite --address build.example.com:8788`,
		Args: cli.Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if address != "" {
				if err := node.CheckAddress(address); err != nil {
					return cli.AsUsage(err)
				}
			}
			home, err := o.home()
			if err != nil {
				return err
			}
			token, err := home.Invite(valid)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), token); err != nil {
				return err
			}
			_, err = terminal.Fprintf(cmd.ErrOrStderr(), "valid for %v, once. On the gateway, with this token in the environment variable %s:\nquoin node add NAME --address %s\n",
				valid, envNodeToken, output.ShellWord(cmp.Or(address, "HOST:PORT")))
			return err
		},
	}
	o.bind(cmd, false)
	f := cmd.Flags()
	f.DurationVar(&valid, "valid", 15*time.Minute, "how long the token counts")
	f.StringVar(&address, "address", "", "where gateways reach this node, for the command that is printed")
	return cmd
}
