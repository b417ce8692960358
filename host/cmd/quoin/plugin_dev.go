package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/devloop"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
)

func newPluginDev() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "dev [DIR]",
		Short: "Make every save of a plugin's sources live",
		Long: `Build the plugin in DIR, put it into a host, print what a model sees of it, and
run the scratch cell dev.ts (or dev.js) of the folder. Every save does it again and
prints what has changed. A plugin that does not build, or that the host refuses,
leaves the one before in service. What the plugin prints and logs is shown, too,
from log.level (QUOIN_LOG_LEVEL), by default info. Ends with Ctrl-C, and leaves nothing
but the types for editors, as quoin plugin types writes them.

The host is one of this process, with no other plugins than those of --plugins. With
--server it is that of a quoin serve --allow-dev-plugins on this machine: there the
plugin takes the place of the installed one until this command ends.

A folder with Go files is built with go build, or with the command that dev.json5
in the folder names: { build: ["make", "weather"], config: {…}, secrets: {…} }. The
plugin is configured by plugins.config and plugins.secrets of --config, else by dev.json5.
Exit status: 0 after Ctrl-C, 1 failed, 2 usage.`,
		Example: `  quoin plugin dev
  quoin plugin dev ./weather --plugins ./plugins.d
  quoin plugin dev ./weather --server http://127.0.0.1:8787`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := pluginbuild.Open(dirOf(args))
			if err != nil {
				return err
			}
			return o.develop(cmd, folder, devloop.Run)
		},
	}
	o.bind(cmd, false)
	cmd.Flags().Lookup("plugins").Usage = "directory of plugins that are to be there, too (default: none)"
	return cmd
}

// develop calls run with a host for the plugin in folder: that of a server, or one
// of this process. All that is made for it is gone in the end.
func (o *options) develop(cmd *cobra.Command, folder *pluginbuild.Folder, run func(context.Context, devloop.Options) error) (err error) {
	ctx, _, release := signals(cmd.Context())
	defer release()
	c, err := o.remote.client(cmd)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "quoin-dev-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if work, err = filepath.EvalSymlinks(work); err != nil {
		return err
	}
	d := devloop.Options{
		Folder: folder, Session: o.asker(), Work: filepath.Join(work, "built"),
		Screen: &devloop.Screen{Out: cmd.OutOrStdout(), Width: widthOf(cmd.OutOrStdout())},
	}
	if err := os.Mkdir(d.Work, 0o700); err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
		d.Host = &devloop.Remote{Client: c}
		return run(ctx, d)
	}
	h, err := o.developmentHost(ctx, d.Screen.Above(cmd.ErrOrStderr()), folder, work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	d.Host = &devloop.Local{Host: h}
	return run(ctx, d)
}

// developmentHost makes a host whose plugins are those of --plugins, or none. Of the
// plugin that is developed its log shows more than of others.
func (o *options) developmentHost(ctx context.Context, stderr io.Writer, folder *pluginbuild.Folder, work string) (*host.Host, error) {
	f, err := o.load()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "plugins")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if o.plugins != "" || f.PluginDir != "" {
		if dir, err = o.pluginDir(f); err != nil {
			return nil, err
		}
	}
	cfg := o.hostOf(f, folder, dir, stderr)
	cfg.Logger = devloop.Logger(stderr, folder, devloop.Levels{Host: logLevel(f, slog.LevelWarn), Plugin: logLevel(f, slog.LevelInfo)})
	cfg.PluginDataDir = filepath.Join(work, "data")
	return host.New(ctx, cfg)
}
