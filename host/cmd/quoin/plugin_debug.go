package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/debugrelay"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/devloop"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/pluginbuild"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/manifest"
	"github.com/quoinhq/quoin/plugins/protocol"
)

func newPluginDebug() *cobra.Command {
	var o options
	cmd := &cobra.Command{
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
  quoin plugin debug ./weather --set tools.codeMode.timeoutMs=60000`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := pluginbuild.Open(dirOf(args))
			if err != nil {
				return err
			}
			return o.develop(cmd, folder, attach)
		},
	}
	o.bind(cmd, false)
	cmd.Flags().Lookup("plugins").Usage = "directory of plugins that are to be there, too (default: none)"
	return cmd
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
