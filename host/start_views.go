package host

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/plugins"
)

func (vs *views) startPlugins(ctx context.Context) error {
	if vs.cfg.Plugins.Dir == "" && len(vs.cfg.Plugins.Bundled) == 0 {
		return nil
	}
	bundled, err := vs.cfg.Plugins.bundledPlugins()
	if err != nil {
		return err
	}
	data, temp, err := pluginData(vs.cfg.Plugins)
	vs.tempDir = temp
	if err != nil {
		return err
	}
	s, err := plugins.Supervise(ctx, vs.cfg.Plugins.Dir, plugins.SupervisorOptions{
		DataDir:      data,
		OpenStorage:  vs.cfg.Plugins.OpenStorage,
		Bundled:      bundled,
		Configs:      vs.cfg.Plugins.Config,
		Secrets:      vs.cfg.Plugins.Secrets,
		Gate:         plugins.LockGate(vs.cfg.Plugins.Dir, vs.cfg.Plugins.TrustedKeys),
		Logger:       vs.log,
		OnChange:     vs.pluginsChanged,
		Watch:        vs.cfg.Plugins.Watch,
		DrainTimeout: vs.cfg.times.Own.PluginDrain,
	})
	vs.mu.Lock()
	defer vs.mu.Unlock()
	vs.plugins = s
	return err
}

// pluginData returns the directory under which plugins keep their data. Without one in
// the configuration it makes a temporary directory, which Close removes.
func pluginData(c PluginConfig) (dir, temp string, err error) {
	if c.DataDir != "" {
		dir, err = filepath.Abs(c.DataDir)
		return dir, "", err
	}
	temp, err = os.MkdirTemp("", "quoin-plugins-")
	if err != nil {
		return "", "", fmt.Errorf("data directory of plugins: %w", err)
	}
	return temp, temp, nil
}

// startMCP starts to keep the MCP servers connected, and waits until each was
// tried once or the time for that is over. One that is down does not stop a host.
func (vs *views) startMCP(ctx context.Context) error {
	servers, err := mcp.Connect(vs.cfg.MCP.Servers, mcp.Options{Logger: vs.log, Version: Version, PinDir: vs.cfg.MCP.PinDir, Pins: vs.cfg.MCP.Pins, SignIns: vs.cfg.MCP.SignIns, OnChange: vs.mcpChanged})
	if err != nil {
		return err
	}
	names := servers.Names()
	for _, t := range vs.cfg.Tools {
		if t.Source == catalog.SourceMCP && !slices.Contains(names, t.Owner) {
			names = append(names, t.Owner)
		}
	}
	vs.mu.Lock()
	vs.mcp, vs.mcpNames = servers, view.MCPServerIdentifiers(names)
	vs.mu.Unlock()
	wait := vs.cfg.MCP.Wait
	if wait == 0 {
		wait = vs.cfg.times.Own.MCPWait
	}
	tried, cancel := context.WithTimeout(ctx, max(wait, 0))
	defer cancel()
	if servers.Tried(tried) != nil && ctx.Err() == nil {
		vs.log.Info("some MCP servers are not connected yet")
	}
	return ctx.Err()
}

// startHooks reads the embedder's hooks. A bad pattern is an error.
func (vs *views) startHooks() (err error) {
	vs.ownHooks, err = policy.NewChain(vs.cfg.Hooks, vs.cfg.HookTimeout)
	if err != nil {
		return err
	}
	vs.hooks.Store(vs.ownHooks)
	vs.hookGrants = make(map[string]policy.Patterns)
	for id, texts := range vs.cfg.Plugins.Hooks {
		if vs.isBuiltIn(id) {
			return fmt.Errorf("hooks of plugin %s: that is the name of an owner of built-in tools, which no plugin may have", id)
		}
		if vs.hookGrants[id], err = policy.ParsePatterns("hooks of plugin "+id, texts); err != nil {
			return err
		}
	}
	return nil
}

// holdPlugins returns a context under which a call has to do with one generation of
// each plugin only: the hooks, the mapping of arguments and the tool itself.
func (vs *views) holdPlugins(ctx context.Context) (held context.Context, done func()) {
	if vs.plugins == nil {
		return ctx, func() {}
	}
	return vs.plugins.KeepGenerations(ctx)
}
