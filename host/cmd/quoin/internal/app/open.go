package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/gateway/client"
	"github.com/quoinhq/quoin/host/internal/configfile"
)

// Use calls far with the server that the flags name, or own if they name none.
func (o *Flags) Use(cmd *cobra.Command, far func(*client.Client) error, own func() error) error {
	c, err := o.Remote.Client(cmd)
	if err != nil {
		return err
	}
	if c == nil {
		return own()
	}
	defer c.Close()
	return far(c)
}

// Existing is the configuration and the state directory, which must have been used.
func (o *Flags) Existing() (f *configfile.File, state string, err error) {
	if f, err = o.Load(); err != nil {
		return nil, "", err
	}
	state, err = o.existingState(f)
	return f, state, err
}

// WithHost calls do with a host of this process.
func (o *Flags) WithHost(cmd *cobra.Command, do func(*host.Host) error) error {
	h, rec, err := o.OpenHost(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	return errors.Join(do(h), h.Close(), rec.Close())
}

// OpenHost makes the host that the flags ask for, and what records its runs.
func (o *Flags) OpenHost(ctx context.Context, stderr io.Writer) (*host.Host, *Recorders, error) {
	f, err := o.Load()
	if err != nil {
		return nil, nil, err
	}
	cfg := o.HostConfig(f, Logger(f, stderr, slog.LevelWarn))
	cfg.Cluster.Listen, cfg.Cluster.Advertise = "", "" // the server of this machine answers other hosts
	if !f.Given("tools.codeMode.isolation") {
		// The user chose this one cell; the result says how it was isolated.
		cfg.Settings.Isolation = host.IsolationBestEffort
	}
	if !f.Given("guest.preparedWorkers") {
		cfg.Guests.Prepared = 1
	}
	if err := o.AddDirectories(ctx, f, &cfg); err != nil {
		return nil, nil, err
	}
	rec, err := o.OpenRecorders(ctx, f, &cfg)
	if err != nil {
		return nil, nil, err
	}
	h, err := host.New(ctx, cfg)
	if err != nil {
		return nil, nil, errors.Join(err, rec.Close())
	}
	if h.Guests().Isolation.Tier == "D" && !cfg.Settings.Disabled {
		cfg.Logger.Warn("programs run without a sandbox to rely on; quoin doctor says what is missing")
	}
	return h, rec, nil
}

// AddDirectories adds where the plugins are and what outlives the process.
func (o *Flags) AddDirectories(ctx context.Context, f *configfile.File, cfg *host.Config) error {
	dir, err := o.PluginDir(f)
	if err != nil {
		return err
	}
	state, err := o.StateDir(f)
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
	if err := o.OpenState(ctx, f, state, cfg); err != nil {
		return err
	}
	return o.completeShell(cfg, state)
}

// List asks the server, or makes a host that gives its plugins throw-away data directories:
// looking changes nothing.
func (o *Flags) List(cmd *cobra.Command, print func(Backend) error) error {
	return o.Use(cmd, func(c *client.Client) error { return print(c) }, func() error {
		return o.Inspect(cmd, cmd.ErrOrStderr(), func(h *host.Host) error { return print(Local{h}) })
	})
}

// Inspect makes a host that is only looked at.
func (o *Flags) Inspect(cmd *cobra.Command, stderr io.Writer, print func(*host.Host) error) error {
	f, err := o.Load()
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if o.saysWhy {
		level = slog.LevelError
	}
	cfg := o.HostConfig(f, Logger(f, stderr, level))
	cfg.Guests.Prepared = 1
	cfg.Settings.Isolation = host.IsolationBestEffort // no cell runs
	if cfg.Plugins.Dir, err = o.PluginDir(f); err != nil {
		return err
	}
	if err := o.AddMCPState(cmd.Context(), f, &cfg); err != nil {
		return err
	}
	h, err := host.New(context.WithoutCancel(cmd.Context()), cfg)
	if err != nil {
		return errors.Join(err, o.CloseState())
	}
	return errors.Join(print(h), h.Close(), o.CloseState())
}

// AddMCPState lets a host that is only looked at see servers as the hosts of the state
// directory do: with their pins and sign-ins. A directory that was not used stays so.
func (o *Flags) AddMCPState(ctx context.Context, f *configfile.File, cfg *host.Config) error {
	state, err := o.existingState(f)
	if err != nil || len(f.MCP) == 0 {
		return nil // a host has not used the directory yet
	}
	if err := paths.CheckState(state); err != nil {
		return err
	}
	opened := host.Config{Logger: cfg.Logger}
	if err := o.OpenState(ctx, f, state, &opened); err != nil {
		return err
	}
	cfg.MCP.Pins, cfg.MCP.SignIns = opened.MCP.Pins, opened.MCP.SignIns
	return nil
}
