package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/celltypes"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/debugrelay"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/devloop"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/process"
)

func newDev() *cobra.Command {
	return developing(&cobra.Command{
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
	}, func(ctx context.Context, _ *cobra.Command, d devloop.Options) error { return devloop.Run(ctx, d) })
}

// developing completes a command that calls run with a host for the plugin in its directory.
func developing(cmd *cobra.Command, run func(context.Context, *cobra.Command, devloop.Options) error) *cobra.Command {
	var o app.Flags
	cmd.Args = cli.Args(cobra.MaximumNArgs(1))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder, err := pluginbuild.Open(dirOf(args))
		if err != nil {
			return err
		}
		return develop(&o, cmd, folder, func(ctx context.Context, d devloop.Options) error { return run(ctx, cmd, d) })
	}
	o.Bind(cmd, false)
	cmd.Flags().Lookup("plugins").Usage = "directory of plugins that are to be there, too (default: none)"
	return cmd
}

// develop calls run with a host for the plugin in folder: a server's host, or one of this
// process. All that is made for it is gone in the end.
func develop(o *app.Flags, cmd *cobra.Command, folder *pluginbuild.Folder, run func(context.Context, devloop.Options) error) (err error) {
	ctx, _, release := process.Signals(cmd.Context())
	defer release()
	c, err := o.Remote.Client(cmd)
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
		Folder: folder, Session: o.Caller(), Work: filepath.Join(work, "built"),
		Screen: &devloop.Screen{Out: cmd.OutOrStdout(), Width: output.Width(cmd.OutOrStdout())},
	}
	if err := os.Mkdir(d.Work, 0o700); err != nil {
		return err
	}
	if c != nil {
		defer c.Close()
		d.Host = &devloop.Remote{Client: c}
		return run(ctx, d)
	}
	h, err := developmentHost(o, ctx, d.Screen.Above(cmd.ErrOrStderr()), folder, work)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	d.Host = &devloop.Local{Host: h}
	return run(ctx, d)
}

// developmentHost makes a host with the plugins of --plugins, if any. Its log shows more of
// the plugin that is developed than of others.
func developmentHost(o *app.Flags, ctx context.Context, stderr io.Writer, folder *pluginbuild.Folder, work string) (*host.Host, error) {
	f, err := o.Load()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(work, "plugins")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if o.Plugins != "" || f.PluginDir != "" {
		if dir, err = o.PluginDir(f); err != nil {
			return nil, err
		}
	}
	cfg := hostOf(o, f, folder, dir, stderr)
	cfg.Logger = devloop.Logger(stderr, folder, devloop.Levels{Host: app.LogLevel(f, slog.LevelWarn), Plugin: app.LogLevel(f, slog.LevelInfo)})
	cfg.Plugins.DataDir = filepath.Join(work, "data")
	return host.New(ctx, cfg)
}

func newDebug() *cobra.Command {
	return developing(&cobra.Command{
		Use:   "debug [DIR]",
		Short: "Attach a host to a plugin that runs under a debugger",
		Long: `Wait until the plugin in DIR runs with ` + protocol.EnvDebug + ` set, mostly under a
debugger, and put that process into a host. What a model sees of it is printed, and
the scratch cell dev.ts (or dev.js) runs, now and whenever it is saved. Ends with
Ctrl-C, which detaches: the plugin goes on, and can be attached to again.

The plugin is reached over a unix socket in a folder of this user's own. Nothing on
it is encrypted or proven: every process of this user can call the plugin. It is for
debugging alone. The host is one of this process, or with --server that of a quoin
serve --allow-dev-plugins on this machine.
Exit status: 0 after Ctrl-C, 1 failed, 2 usage.`,
		Example: `  cd weather && ` + protocol.EnvDebug + `=1 dlv debug
  quoin plugin debug ./weather
  quoin plugin debug ./weather --set tools.codeMode.cpuBudgetMs=120000`,
	}, func(ctx context.Context, _ *cobra.Command, d devloop.Options) error { return attach(ctx, d) })
}

// attach is devloop.Run with relays to a running plugin in place of builds.
func attach(ctx context.Context, o devloop.Options) error {
	o.Generation = func(ctx context.Context, into string) (plugins.Candidate, error) {
		m, err := manifest.Read(o.Folder.Dir)
		if err != nil {
			return plugins.Candidate{}, err
		}
		socket, err := debugrelay.Await(ctx, m.ID, func() error {
			return o.Screen.Block(fmt.Sprintf("waiting for %s: start it with %s=1, for example cd %s && %s=1 dlv debug\n",
				m.ID, protocol.EnvDebug, o.Folder.Dir, protocol.EnvDebug))
		})
		if err != nil {
			return plugins.Candidate{}, err
		}
		return debugrelay.Stage(into, m, socket)
	}
	return devloop.Run(ctx, o)
}

func newTypes() *cobra.Command {
	return developing(&cobra.Command{
		Use:   "types [DIR]",
		Short: "Write the types by which an editor knows what cells can call",
		Long: `Build the plugin in DIR, ask a host what programs can call, and write that to
.quoin/types.d.ts of the folder: the globals of every program, the plugin's tools
and its namespaces. A tsconfig.json is written, too, unless there is one. With both,
an editor completes and checks dev.ts and testdata/*.ts. quoin plugin dev keeps the
types fresh, and quoin plugin test --check holds the cells against them.

An editor objects to a return at the top level of a .ts file (TS1108), and no option
of TypeScript changes that; --check does not. In .js files editors do not object.
Exit status: 0 written, 1 failed, 2 usage.`,
		Example: `  quoin plugin types
  quoin plugin types ./weather`,
	}, func(ctx context.Context, cmd *cobra.Command, d devloop.Options) error {
		notes, err := writeTypes(ctx, d)
		for _, note := range notes {
			_, printed := terminal.Fprintln(cmd.OutOrStdout(), note)
			err = errors.Join(err, printed)
		}
		return err
	})
}

// writeTypes puts the plugin into the host for as long as it takes to ask for its types.
func writeTypes(ctx context.Context, d devloop.Options) (notes []string, err error) {
	into := filepath.Join(d.Work, "types")
	if err := os.Mkdir(into, 0o700); err != nil {
		return nil, err
	}
	found, err := d.Folder.Build(ctx, into)
	if err != nil {
		return nil, err
	}
	if err := d.Host.Develop(ctx, found); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Host.Undo(context.WithoutCancel(ctx))) }()
	text, err := celltypes.Declarations(ctx, d.Host, d.Session)
	if err != nil {
		return nil, err
	}
	if notes, err = celltypes.Write(d.Folder.Dir, text); len(notes) == 0 && err == nil {
		notes = []string{celltypes.TypesName + " is as it should be"}
	}
	return notes, err
}
