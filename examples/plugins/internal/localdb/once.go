package localdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// receiptDays is how long a receipt is kept.
const receiptDays = 7

// Once runs f and remembers its result under key, inside the transaction that
// f itself works in: after a crash either both are there or neither. Called
// again with the same key within seven days it returns the remembered result
// and does not run f. An f that fails leaves no receipt. With an empty key f
// simply runs.
//
// The key must be unique to one intended effect; callers put the tool's name
// in front of the idempotency key they were given.
func Once[T any](ctx context.Context, tx *sql.Tx, key string, f func() (T, error)) (T, error) {
	var out T
	if key == "" {
		return f()
	}
	var stored string
	err := tx.QueryRowContext(ctx, "select result from receipts where key = ?", key).Scan(&stored)
	if err == nil {
		if err := json.Unmarshal([]byte(stored), &out); err != nil {
			return out, fmt.Errorf("read the receipt of an earlier call: %w", err)
		}
		return out, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return out, fmt.Errorf("look for a receipt: %w", err)
	}
	if out, err = f(); err != nil {
		return out, err
	}
	return out, keep(ctx, tx, key, out)
}

// keep writes the receipt and forgets those that are too old to be asked for.
func keep(ctx context.Context, tx *sql.Tx, key string, out any) error {
	result, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("write a receipt: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "insert into receipts (key, result) values (?, ?)", key, string(result)); err != nil {
		return fmt.Errorf("write a receipt: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "delete from receipts where created_at < unixepoch() - ? * 86400", receiptDays); err != nil {
		return fmt.Errorf("forget old receipts: %w", err)
	}
	return nil
}
