package main

import (
	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/plugins/manifest"
)

func newPluginSchema() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of plugin.json",
		Example: `  quoin plugin schema > plugin.schema.json`,
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := manifest.JSONSchema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}
