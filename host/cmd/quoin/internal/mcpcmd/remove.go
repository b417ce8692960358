package mcpcmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/configedit"
	"github.com/quoinhq/quoin/host/internal/json5"
	"github.com/quoinhq/quoin/internal/terminal"
)

func newRemove() *cobra.Command {
	var m mcpServers
	cmd := &cobra.Command{
		Use:   "remove NAME",
		Short: "Take a server out of the configuration",
		Long: `Take an MCP server out of the configuration file. Comments and layout of the rest stay.
To keep the entry and not use it, set disabled: true in it. quoin mcp logout forgets
its sign-in, as long as it is in the configuration.
Exit status: 0 removed, 1 not, 2 usage.`,
		Example: `  quoin mcp remove files
  quoin mcp remove files --config quoin.json5`,
		Args: cli.OneArg("NAME", serverHint),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := m.configPath(false)
			if err != nil {
				return err
			}
			if _, err := configedit.Apply(cmd.Context(), path, func(file []byte) ([]byte, error) {
				names, err := serverNames(file)
				if err == nil && !slices.Contains(names, args[0]) {
					err = noServer(args[0], names)
				}
				if err != nil {
					return nil, err
				}
				return json5.Remove(file, []string{"mcp", "servers", args[0]})
			}); err != nil {
				return err
			}
			return m.Print(cmd, map[string]string{"file": path, "removed": args[0]}, func(b *strings.Builder) {
				terminal.Fprintf(b, "removed %s from %s\n", terminal.Short(args[0]), path)
			})
		},
	}
	m.bind(cmd)
	m.completeServers(cmd)
	return cmd
}
