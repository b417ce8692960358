package postgres

import (
	"cmp"
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/runstore"
)

var _ runstore.Inventory = (*DB)(nil)

// maxItems bounds how much is listed: more than hosts keep.
const maxItems = 1 << 20

// Items implements runstore.Inventory.
func (d *DB) Items(ctx context.Context) (items []runstore.Item, err error) {
	most := cmp.Or(d.options.maxItems, maxItems)
	err = d.retry(ctx, func(ctx context.Context) error {
		rows, err := d.pool.Query(ctx, `
			SELECT id, CASE WHEN ended THEN 'result' ELSE 'run' END AS kind, expires,
			       octet_length(header)::bigint + octet_length(image)
			       + (SELECT coalesce(sum(octet_length(header)::bigint + octet_length(body)), 0)::bigint FROM quoin.journal WHERE run = r.id) AS bytes
			FROM quoin.runs r WHERE NOT gone AND octet_length(id) <= $1
			UNION ALL
			SELECT run, 'effects', expires,
			       octet_length(header)::bigint + (SELECT coalesce(sum(octet_length(header)), 0) FROM quoin.effect_log WHERE run = e.run)
			FROM quoin.effects e WHERE octet_length(run) <= $1
			ORDER BY 1, 2 LIMIT $2`, maxID, most+1)
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
	if len(items) > most {
		return nil, fmt.Errorf("the database has more than %d runs, results and journals of effects", most)
	}
	return items, err
}
