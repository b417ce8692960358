package statecmd

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/cmd/quoin/internal/app"
	"github.com/quoinhq/quoin/host/internal/statemove"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/plugins"
)

// carried is what can be carried of the state that is open.
func carried(o *app.Flags, state string, cfg *host.Config) (statemove.State, error) {
	runs, ok := cfg.Store.(interface {
		runstore.Store
		runstore.Inventory
		runstore.Identified
	})
	if !ok {
		return statemove.State{}, errors.New("this store cannot say what it keeps")
	}
	out := statemove.State{Runs: runs, Approvals: cfg.Approvals.Store, Storages: storages(o, state, cfg.Logger)}
	pins := cfg.MCP.Pins
	if pins == nil {
		var err error
		if pins, err = mcp.OpenPins(app.PinDir(state)); err != nil {
			return statemove.State{}, err
		}
	}
	for _, store := range []any{pins, cfg.Programs.Store, cfg.MCP.SignIns, cfg.Approvals.Store} {
		if p, ok := store.(interface{ Portable() []documents.Portable }); ok {
			out.Documents = append(out.Documents, p.Portable()...)
		}
	}
	return out, nil
}

// storages returns the storages of the plugins of the database that is open, or of the state
// directory.
func storages(o *app.Flags, state string, log *slog.Logger) statemove.Storages {
	fail := func(err error) { log.Error("what a plugin has stored cannot be read or written", "error", err) }
	if d := o.Database; d != nil {
		return statemove.Storages{IDs: d.PluginStorages, Open: func(id string) (pluginstorage.Movable, func() error) {
			return d.PluginStorage(id, fail).(pluginstorage.Movable), func() error { return nil }
		}}
	}
	data := filepath.Join(state, "plugins")
	return statemove.Storages{
		IDs: func(context.Context) ([]string, error) { return storedPlugins(data) },
		Open: func(id string) (pluginstorage.Movable, func() error) {
			f := pluginstorage.Open(plugins.DataPaths(data, id)[1], fail)
			return f, f.Close
		},
	}
}

// storedPlugins are the plugins that have a storage in a data directory.
func storedPlugins(data string) (ids []string, err error) {
	file := plugins.DataPaths(data, "")[1] // its name is the extension
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), filepath.Base(file)); ok && id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
