package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/quoinhq/quoin/host/internal/statecopy"
)

// ErrOtherKey says that the rows of the database were sealed with another key. Match
// with errors.Is.
var ErrOtherKey = errors.New("the database belongs to another key")

// checkKey compares the key of this host with the key of the hosts before it, and learns which
// database this is. The first host brings the key of all.
func (c *conn) checkKey(ctx context.Context) error {
	var have, identity string
	err := c.pool.QueryRow(ctx, `
		WITH first AS (INSERT INTO quoin.installation (key_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING key_id, identity)
		SELECT key_id, identity FROM first UNION ALL SELECT key_id, identity FROM quoin.installation LIMIT 1`, c.sealer().KeyID()).Scan(&have, &identity)
	if err != nil {
		return err
	}
	if have != c.sealer().KeyID() {
		return fmt.Errorf("%w: %s there, %s here: copy the key file (state.keyFile) of a host that uses it", ErrOtherKey, have, c.sealer().KeyID())
	}
	c.identity = c.options.Key.StoreIdentity(identity)
	return nil
}

// HasKey reports whether a key was chosen for the database, so that a host must not make
// one of its own.
func HasKey(ctx context.Context, url string) (_ bool, err error) {
	cfg, err := parse(url, defaultTimes)
	if err != nil {
		return false, err
	}
	cfg.MaxConns = 1
	c := &conn{}
	if c.pool, err = newPool(ctx, cfg); err != nil {
		return false, err
	}
	defer c.pool.Close()
	if err := c.checkVersion(ctx); err != nil {
		return false, fmt.Errorf("database: %w", explained(err))
	}
	var has bool
	if err := c.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM quoin.installation)`).Scan(&has); err != nil {
		return false, fmt.Errorf("database: %w", explained(err))
	}
	return has, nil
}

// checkMoving refuses a database that is being moved.
func (c *conn) checkMoving(ctx context.Context) error {
	var moving string
	err := c.own.QueryRow(ctx, `SELECT moving FROM quoin.installation`).Scan(&moving)
	if err == nil && moving != "" && !c.options.Moving {
		return statecopy.ErrMoving
	}
	return err
}
