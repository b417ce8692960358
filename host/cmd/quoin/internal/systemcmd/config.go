package systemcmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/output"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/internal/config"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/internal/terminal"
)

func NewConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check configurations and describe them",
		Long:  `Check a configuration before it is used, or print what one may contain.`,
		Example: `  quoin config check quoin.json5
  quoin config path
  quoin config schema > quoin.schema.json`,
	}
	cmd.AddCommand(newConfigCheck(), newConfigPath(), newConfigSchema())
	return cmd
}

func newConfigSchema() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of configuration files",
		Example: `  quoin config schema > quoin.schema.json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			schema, err := configfile.Schema()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(schema)
			return err
		},
	}
}

// checked is what config check says, as JSON.
type checked struct {
	OK       bool             `json:"ok"`
	Errors   []config.Problem `json:"errors"`
	Warnings []config.Problem `json:"warnings"`
	// Unmatched are the settings that name a plugin or an MCP server that does not exist.
	Unmatched []host.UnusedSetting `json:"unmatched"`
	Values    []config.Value       `json:"values"`
}

func newConfigCheck() *cobra.Command {
	var o app.Flags
	var online bool
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Report what is wrong with a configuration, or what it comes to",
		Long: `Read a configuration as the other commands do, from FILE (or --config), the
environment and --set, and print either all that is wrong with it or the value
of every field with where it came from. Numbers out of range are warnings, and so
are patterns and entries about a plugin or an MCP server that does not exist, and
programs of MCP servers that are not here. plugins.config is held against the
configSchema of each plugin that is installed. Whether a pattern matches a tool, and
whether plugins and MCP servers start, is known when they run: --online starts them.
Exit status: 0 usable, 1 not, 2 usage.`,
		Example: `  quoin config check quoin.json5
  quoin config check quoin.json5 --set tools.codeMode.timeoutMs=5000
  quoin config check quoin.json5 --online
  quoin config check --json`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				if o.Config != "" {
					return cli.Usagef("both FILE and --config are given: choose one")
				}
				o.Config = args[0]
			}
			c, err := check(&o)
			if err == nil && online && c.OK {
				err = checkOnline(&o, cmd, c)
			}
			if err != nil {
				return err
			}
			err = o.Print(cmd, c, func(b *strings.Builder) { printChecked(cmd.ErrOrStderr(), b, c) })
			return cli.Failed(err, !c.OK)
		},
	}
	o.BindConfig(cmd)
	cmd.ValidArgsFunction = cli.CompleteFiles("json5", "json")
	o.BindJSON(cmd)
	cmd.Flags().BoolVar(&online, "online", false, "also start plugins and MCP servers, and look at what they offer")
	cmd.Flags().StringVar(&o.Plugins, "plugins", "", "directory of plugins (default: plugins.dir, as for other commands)")
	return cmd
}

// checkOnline makes a host of the configuration, and adds what is only known then:
// patterns that match no tool, plugins that do not run, MCP servers that are down.
func checkOnline(o *app.Flags, cmd *cobra.Command, c *checked) error {
	return o.Inspect(cmd, io.Discard, func(h *host.Host) error {
		c.Unmatched = h.UnusedSettings()
		for _, p := range h.Plugins() {
			if reason := cmp.Or(p.Reason, p.LastError); reason != "" {
				c.Unmatched = append(c.Unmatched, host.UnusedSetting{Field: "plugins", Value: p.ID, Problem: "is " + p.State.String() + ": " + reason})
			}
		}
		for _, s := range gateway.MCPServersOf(h) {
			if s.Reason != "" {
				c.Unmatched = append(c.Unmatched, host.UnusedSetting{Field: "mcp.servers", Value: s.Name, Problem: "is " + s.State + ": " + s.Reason})
			}
		}
		return nil
	})
}

func check(o *app.Flags) (*checked, error) {
	c := &checked{Errors: []config.Problem{}, Warnings: []config.Problem{}, Unmatched: []host.UnusedSetting{}, Values: []config.Value{}}
	f, err := o.Load()
	var wrong *configfile.Error
	switch {
	case errors.As(err, &wrong):
		c.Errors = wrong.Problems
	case err != nil:
		return nil, err
	default:
		if c.Errors, err = misconfigured(o, f); err != nil {
			return nil, err
		}
		c.OK = len(c.Errors) == 0
		c.Warnings = append(c.Warnings, f.Report.Warnings...)
		c.Values = f.Report.Values
		if c.Unmatched, err = unusedSettings(o, f); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// misconfigured is what the plugins that are installed do not allow.
func misconfigured(o *app.Flags, f *configfile.File) ([]config.Problem, error) {
	dir, missing := o.PluginDir(f)
	if missing != nil || dir == "" {
		return []config.Problem{}, nil // they may be on another machine
	}
	err := f.CheckPluginConfigs(dir)
	var wrong *configfile.Error
	if errors.As(err, &wrong) {
		return wrong.Problems, nil
	}
	return []config.Problem{}, err
}

// unusedSettings compares a configuration with the plugins that are installed.
func unusedSettings(o *app.Flags, f *configfile.File) ([]host.UnusedSetting, error) {
	dir, missing := o.PluginDir(f)
	list, err := f.UnusedSettings(dir)
	if missing != nil { // what it would be compared with may be on another machine
		list = append(list, host.UnusedSetting{Field: "plugins.dir", Value: f.PluginDir, Problem: "is not a directory here"})
	}
	return list, err
}

// printChecked prints problems to stderr, and values.
func printChecked(stderr io.Writer, b *strings.Builder, c *checked) {
	for _, p := range c.Errors {
		terminal.Fprintf(stderr, "error: %s\n", p)
	}
	for _, p := range c.Warnings {
		terminal.Fprintf(stderr, "warning: %s\n", p)
	}
	for _, u := range c.Unmatched {
		terminal.Fprintf(stderr, "warning: %s\n", u)
	}
	if c.OK {
		output.Table(b, "FIELD\tVALUE\tFROM", c.Values, func(v config.Value) []any {
			text, _ := json.Marshal(v.Value) // what was read from JSON has JSON
			return []any{v.Field, string(text), v.Origin}
		})
	}
}

func newConfigPath() *cobra.Command {
	var o app.Flags
	cmd := &cobra.Command{
		Use:   "path",
		Short: "Print the configuration file that is in force",
		Long: `Print the configuration file that commands read: that of --config, else of
QUOIN_CONFIG, else quoin/quoin.json5 in $XDG_CONFIG_HOME or ~/.config, if it is
there. "none" in place of a file means none.
Exit status: 0 there is one, 1 there is no file, 2 usage.`,
		Example: `  quoin config path
  quoin config check "$(quoin config path)"`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path, err := paths.Config(o.Config)
			if err != nil {
				return err
			}
			if path == "" {
				return fmt.Errorf("no configuration file is in force: %s is read if it is there and neither --config nor %s names another one", paths.UserConfig(), paths.ConfigEnv)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
	cmd.Flags().StringVar(&o.Config, "config", "", paths.ConfigUsage)
	return cmd
}
