package sqlite

import (
	"context"

	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// state are the documents of the state.
func (d *conn) state() statedocs.Driver {
	return statedocs.Driver{Key: d.key, Open: func(of statedocs.Purpose, o documents.DirOptions) documents.Store { return d.documents(of, o) }}
}

// Approvals returns the approvals and grants of all processes that use the state.
func (d *DB) Approvals() *policy.StoredApprovals { return d.state().Approvals() }

// Programs returns the saved programs and the programs of runs.
func (d *DB) Programs() *programs.Stored { return d.state().Programs() }

// Pins returns what the tools of MCP servers have to be.
func (d *DB) Pins() *mcp.Pins { return d.state().Pins() }

// SignIns returns the sign-ins to MCP servers, encrypted. The cipher of o does not count.
func (d *DB) SignIns(o mcp.SignInOptions) (*mcp.SignIns, error) { return d.state().SignIns(o) }

// Tasks returns what mcpserver.NewTasks keeps the tasks of MCP clients in, encrypted.
func (d *DB) Tasks() (documents.Store, error) { return d.state().Tasks() }

// PluginStorage returns the key-value storage of a plugin; it is what plugins.OpenStorage is. It
// calls fail with the reason when the state cannot be used, or holds what no host has written.
// Set it as host.PluginConfig.OpenStorage.
func (d *DB) PluginStorage(id string, fail func(error)) protocol.Storage {
	return pluginstorage.NewShared(id, &pluginLog{d: d.conn, id: id, seal: d.Sealer("plugin storage")}, fail)
}

// PluginStorages returns the ids of the plugins that have a storage.
func (d *DB) PluginStorages(ctx context.Context) (ids []string, err error) {
	err = d.read(ctx, func(q querier) error {
		return q.rows(`SELECT plugin FROM plugin_storages ORDER BY plugin`, nil, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	})
	return ids, err
}
