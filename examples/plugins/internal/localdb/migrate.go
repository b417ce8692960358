package localdb

import (
	"context"
	"database/sql"
	"fmt"
)

// receipts is created in every file; it is not counted as a migration.
const receipts = `
create table if not exists receipts (
	key        text primary key,
	result     text not null,
	created_at integer not null default (unixepoch())
) strict, without rowid`

// migrate brings the file to len(migrations), all or nothing.
func migrate(ctx context.Context, pool *sql.DB, migrations []string) error {
	return within(ctx, pool, func(tx *sql.Tx) error {
		var version int
		if err := tx.QueryRowContext(ctx, "pragma user_version").Scan(&version); err != nil {
			return fmt.Errorf("read the schema version: %w", err)
		}
		if version > len(migrations) {
			return fmt.Errorf("the file has schema version %d and this plugin knows only %d: use a newer plugin or another data directory", version, len(migrations))
		}
		if _, err := tx.ExecContext(ctx, receipts); err != nil {
			return fmt.Errorf("create receipts: %w", err)
		}
		for n := version; n < len(migrations); n++ {
			if _, err := tx.ExecContext(ctx, migrations[n]); err != nil {
				return fmt.Errorf("migration %d: %w", n+1, err)
			}
		}
		// A pragma takes no parameters; the number is ours.
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("pragma user_version = %d", len(migrations))); err != nil {
			return fmt.Errorf("write the schema version: %w", err)
		}
		return nil
	})
}
