package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// PluginStorages returns the ids of the plugins that have a storage in the database.
func (d *DB) PluginStorages(ctx context.Context) (ids []string, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		rows, err := d.pool.Query(ctx, `SELECT plugin FROM quoin.plugin_storages ORDER BY plugin LIMIT $1`, maxDocuments)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return ids, nil
}
