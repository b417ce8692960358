package mcpcmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/cli"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/paths"
	"github.com/quoinhq/quoin/host/internal/configfile"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/text"
)

// mcpServers are the flags of the commands about servers of the configuration.
type mcpServers struct{ app.Flags }

func (m *mcpServers) bind(cmd *cobra.Command) {
	m.BindConfig(cmd)
	m.BindJSON(cmd)
}

// bindState is for the commands that use what outlives a process: pins and sign-ins.
func (m *mcpServers) bindState(cmd *cobra.Command) {
	cmd.Flags().StringVar(&m.State, "state", "", "state directory of the hosts that use the servers, or the database of several hosts (default: in the user's state home)")
}

// configPath is the file to change. With mayMake it need not be there.
func (m *mcpServers) configPath(mayMake bool) (string, error) {
	path, err := paths.Config(m.Config)
	if err != nil {
		return "", err
	}
	if path == "" && mayMake && m.Config == "" && os.Getenv(paths.ConfigEnv) == "" {
		path = paths.UserConfig()
	}
	if path == "" {
		return "", cli.Usagef("there is no configuration file to change: name one with --config FILE")
	}
	return path, nil
}

const serverHint = "which quoin mcp list shows"

// find returns the server of that name, also one that is disabled.
func (m *mcpServers) find(f *configfile.File, name string) (mcp.Server, error) {
	i := slices.IndexFunc(f.MCP, func(s mcp.Server) bool { return s.Name == name })
	if i >= 0 {
		return f.MCP[i], nil
	}
	return mcp.Server{}, noServer(name, namesOf(f))
}

func namesOf(f *configfile.File) []string {
	var names []string
	for _, s := range f.MCP {
		names = append(names, s.Name)
	}
	return names
}

// noServer says that a configuration has no such server.
func noServer(name string, names []string) error {
	hint := "it has no servers; add one with quoin mcp add"
	if len(names) > 0 {
		hint = "it has " + strings.Join(names[:min(len(names), 10)], ", ")
		if near := text.Nearest(name, names, 1); len(near) > 0 {
			hint = "did you mean " + near[0] + "?"
		}
	}
	return fmt.Errorf("the configuration has no MCP server %s: %s", terminal.Short(name), hint)
}

// connect connects to one server as hosts with this state directory do. Close what it
// returns.
func (m *mcpServers) connect(cmd *cobra.Command, f *configfile.File, s mcp.Server) (*mcp.Servers, error) {
	cfg, err := m.stateConfig(cmd, f)
	if err != nil {
		return nil, err
	}
	s.Disabled = false
	c, err := mcp.Connect([]mcp.Server{s}, mcp.Options{
		Logger: app.Logger(f, cmd.ErrOrStderr(), slog.LevelError), Version: host.Version, Pins: cfg.MCP.Pins, SignIns: cfg.MCP.SignIns,
	})
	if err != nil {
		return nil, err
	}
	tried, cancel := context.WithTimeout(cmd.Context(), s.ConnectTimeout)
	defer cancel()
	if err := c.Tried(tried); err != nil {
		if cmd.Context().Err() == nil {
			err = fmt.Errorf("%s does not answer within %s", s.Name, s.ConnectTimeout)
			if odd := c.Status()[0].Error; odd != nil {
				err = fmt.Errorf("%w: %w", err, odd)
			}
		}
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// stateConfig has what hosts keep in the state directory.
func (m *mcpServers) stateConfig(cmd *cobra.Command, f *configfile.File) (*host.Config, error) {
	state, err := m.StateDir(f)
	if err != nil {
		return nil, err
	}
	if err := paths.CheckState(state); err != nil {
		return nil, err
	}
	cfg := &host.Config{Logger: app.Logger(f, cmd.ErrOrStderr(), slog.LevelWarn)}
	return cfg, m.OpenState(cmd.Context(), f, state, cfg)
}

// completeServers completes the first argument with the servers of the configuration.
func (m *mcpServers) completeServers(cmd *cobra.Command) {
	cmd.ValidArgsFunction = cli.CompleteFirst(func(*cobra.Command) ([]cobra.Completion, error) {
		f, err := m.Load()
		if err != nil {
			return nil, err
		}
		return namesOf(f), nil
	})
}
