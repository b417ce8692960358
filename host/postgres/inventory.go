package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/runstore"
)

var _ runstore.Inventory = (*DB)(nil)

// Items implements runstore.Inventory.
func (d *DB) Items(ctx context.Context) (items []runstore.Item, err error) {
	err = d.retry(ctx, func(ctx context.Context) error {
		rows, err := d.pool.Query(ctx, `
			SELECT id, CASE WHEN ended THEN 'result' ELSE 'run' END AS kind, expires,
			       octet_length(header) + octet_length(image)
			       + (SELECT coalesce(sum(octet_length(header) + octet_length(body)), 0) FROM quoin.journal WHERE run = r.id) AS bytes
			FROM quoin.runs r WHERE NOT gone
			UNION ALL
			SELECT run, 'effects', expires,
			       octet_length(header) + (SELECT coalesce(sum(octet_length(header)), 0) FROM quoin.effect_log WHERE run = e.run)
			FROM quoin.effects e
			ORDER BY 1, 2`)
		if err != nil {
			return err
		}
		items, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i runstore.Item, err error) {
			err = row.Scan(&i.ID, &i.Kind, &i.Expires, &i.Bytes)
			i.Expires = d.clock.here(i.Expires)
			return i, err
		})
		return err
	})
	return items, err
}
