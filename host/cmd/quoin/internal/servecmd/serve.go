// Package servecmd has the two commands that serve: quoin serve over HTTP, and quoin mcp serve over
// standard input and output.
package servecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/process"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/internal/configfile"
)

// ShutdownBound is how long a server may take to end.
const ShutdownBound = 30 * time.Second

// serving are the flags of serve.
type serving struct {
	app.Flags
	listen, addressFile, tokenFile string
	development                    bool
	expose                         []string
}

func New() *cobra.Command {
	var v serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a host that answers over HTTP",
		Long: `Run a host until SIGINT or SIGTERM, and answer requests over HTTP: see
docs/guide/server.md, and /openapi.json of the server. exec, wait and the listing
commands use it with --server.

Over loopback no token is needed unless one is given. Beyond it one is required:
16 characters or more, in a file that its owner alone may read, or in QUOIN_TOKEN.

Guests are isolated as the configuration file says, by default as far as
"required" goes: see quoin doctor. The first signal parks running cells as
suspended runs, which a later server with the same state directory goes on with;
a second one ends at once.

Plugins are loaded, reloaded and removed as their directory changes, without
dropping a call, unless plugins.watch is false.
Exit status: 0 after a signal, 1 failed, 2 usage.`,
		Example: `  quoin serve
  quoin serve --listen 127.0.0.1:0 --address-file address
  quoin serve --listen 0.0.0.0:8787 --token-file token --state /var/lib/quoin`,
		RunE: func(cmd *cobra.Command, _ []string) error { return v.run(cmd) },
	}
	v.BindHost(cmd, true)
	bindExpose(cmd, &v.expose)
	f := cmd.Flags()
	f.StringVar(&v.listen, "listen", "", "address to listen on; port 0 takes a free one (default: server.listen, which is 127.0.0.1:8787)")
	f.StringVar(&v.addressFile, "address-file", "", "file to write the server's URL to once it listens")
	f.BoolVar(&v.development, "allow-dev-plugins", false, "let quoin plugin dev --server put plugins of this machine in the place of installed ones (default: plugins.development)")
	f.StringVar(&v.tokenFile, "token-file", "", "file with the token callers must have, readable by its owner alone (default: server.tokenFile, else "+app.EnvToken+")")
	return cmd
}

func (v *serving) run(cmd *cobra.Command) error {
	soon, now, release := process.Signals(cmd.Context())
	defer release()
	f, err := v.Load()
	if err != nil {
		return err
	}
	log := app.Logger(f, cmd.ErrOrStderr(), slog.LevelInfo)
	defer process.LogHangups(log)()
	cfg := v.HostConfig(f, log)
	cfg.Plugins.Watch = f.WatchPlugins || !f.Given("plugins.watch")
	if err := v.AddDirectories(soon, f, &cfg); err != nil {
		return err
	}
	rec, err := v.OpenRecorders(soon, f, &cfg)
	if err != nil {
		return err
	}
	return errors.Join(v.serve(soon, now, cmd, f, cfg, rec), rec.Close())
}

// serve runs the host of cfg and its server until soon has ended.
func (v *serving) serve(soon, now context.Context, cmd *cobra.Command, f *configfile.File, cfg host.Config, rec *app.Recorders) error {
	log := cfg.Logger
	token, err := app.ReadToken(cmp.Or(v.tokenFile, f.Server.TokenFile))
	if err != nil {
		return err
	}
	l, err := Listen(cmp.Or(v.listen, f.Server.Listen))
	if err != nil {
		return err
	}
	if gateway.Exposed(l.Addr()) && token == "" {
		return errors.Join(fmt.Errorf("listening on %s: %w", l.Addr(), gateway.ErrExposed), l.Close())
	}
	cfg.Advance = f.Server.Advance
	h, err := host.New(soon, cfg)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	m, err := newMCPServer(h, f, cfg, v.expose)
	if err != nil {
		return errors.Join(err, l.Close(), h.Close())
	}
	defer m.Close()
	options := gateway.Options{
		Mounts: map[string]gateway.Mount{mcpPath: m.Handle},
		Token:  token, Hosts: f.Server.Hosts, Logger: log,
		MaxBody: f.Server.MaxBodyBytes, MaxCalls: f.Server.MaxCalls, MaxStreams: f.Server.MaxStreams,
		Trajectory: rec.Trajectories, Development: v.development || f.Development, AccessLog: f.Log.Access,
	}
	addCallback(&options, f, &cfg, l.Addr())
	if err := addMCPAuth(soon, &options, f.MCPServer.Auth, log); err != nil {
		return errors.Join(err, l.Close(), h.Close())
	}
	s, err := gateway.New(h, options)
	if err != nil {
		return errors.Join(err, l.Close(), h.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	log.Info("serving", "address", l.Addr().String(), "isolation", h.Guests().Isolation.Tier, "engine", h.Guests().Engine.Name, "engineId", h.Guests().Engine.ID, "token", token != "", "tools", len(h.Catalog(host.Session{}).Tools()), "plugins", len(h.Plugins()))
	if err := v.announce(cmd.OutOrStdout(), l.Addr()); err != nil {
		return errors.Join(err, s.Shutdown(now), h.Close())
	}
	if err := process.NotifyManager("READY=1"); err != nil {
		log.Warn("the service manager was not told that the server is ready", "error", err)
	}
	select {
	case err := <-ended:
		return errors.Join(err, h.Close())
	case <-soon.Done():
	}
	if err := process.NotifyManager("STOPPING=1"); err != nil {
		log.Warn("the service manager was not told that the server ends", "error", err)
	}
	log.Info("shutting down; a second signal ends at once")
	return shutdown(now, log, s, h)
}

// Listen takes an address, which must have a port.
func Listen(address string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, cli.AsUsage(err)
	}
	return net.Listen("tcp", address)
}

// shutdown ends server and host, at once when ctx ends.
func shutdown(ctx context.Context, log *slog.Logger, s *gateway.Server, h *host.Host) error {
	bounded, cancel := context.WithTimeout(ctx, ShutdownBound)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(s.Shutdown(bounded), h.Close()) }()
	select {
	case err := <-ended:
		if err == nil {
			log.Info("ended")
		}
		return err
	case <-ctx.Done():
		log.Warn("ended at once")
		return cli.ExitError{Code: cli.ExitFailed}
	}
}

// announce tells scripts where the server is. The file is complete before the line is
// printed.
func (v *serving) announce(stdout io.Writer, addr net.Addr) error {
	url := "http://" + addr.String()
	if v.addressFile != "" {
		if err := writeAddress(v.addressFile, url); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(stdout, "listening on "+url)
	return err
}

// writeAddress writes the file with the URL in one step: a reader never sees half of it.
func writeAddress(name, url string) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".address-")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, url)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
