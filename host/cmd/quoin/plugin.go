package main

import (
	"github.com/spf13/cobra"
)

func newPlugin() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Make, check and install plugins",
		Long:  `Make, check and install plugins. How those of a host fare is what quoin plugins says.`,
		Example: `  quoin plugin new weather
  quoin plugin validate ./weather
  quoin plugin pack ./weather
  quoin plugin install ./weather`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newPluginNew(),
		newPluginDev(),
		newPluginTest(),
		newPluginTypes(),
		newPluginDebug(),
		newPluginValidate(),
		newPluginSchema(),
		newPluginConformance(),
		newPluginPack(),
		newPluginInstall(),
		newPluginUpgrade(),
		newPluginPin(),
		newPluginRemove(),
		newPluginKeys(),
	)
	return cmd
}
