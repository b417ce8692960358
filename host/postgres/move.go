package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/internal/statecopy"
	"github.com/quoinhq/quoin/host/internal/statedocs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/pluginstorage"
)

// copied is a database that is copied or moved. It is a statecopy.State.
type copied struct{ *DB }

// Copied returns the state for the commands of this module that copy and move it.
func (d *DB) Copied() statecopy.State { return copied{d} }

// Get implements statecopy.Source.
func (c copied) Get(ctx context.Context, id string) (*runstore.Record, error) {
	r, err := c.DB.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return r, c.pool.QueryRow(ctx, `SELECT epoch FROM quoin.runs WHERE id = $1`, id).Scan(&r.Epoch)
}

// Documents implements statecopy.Source.
func (c copied) Documents(of statedocs.Purpose) (documents.Store, error) {
	return c.state().Documents(of)
}

// PluginEntries implements statecopy.Source.
func (c copied) PluginEntries(ctx context.Context, id string) ([][]byte, error) {
	return c.PluginStorage(id, func(error) {}).(*pluginstorage.Shared).Entries(ctx)
}

// StartMove implements statecopy.State. Hosts that come after it see the mark, and those before it
// have a lease, or a connection of the name that hosts give it.
func (c copied) StartMove(ctx context.Context, to string) (origin string, err error) {
	fresh := to + " " + rand.Text()
	err = pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT moving FROM quoin.installation FOR UPDATE`).Scan(&origin); err != nil {
			return err
		}
		switch there, _, _ := strings.Cut(origin, " "); there {
		case "":
		case to:
			return nil
		default:
			return statecopy.ErrMoving
		}
		origin = fresh
		_, err := tx.Exec(ctx, `UPDATE quoin.installation SET moving = $1`, origin)
		return err
	})
	if err == nil {
		err = c.checkUnused(ctx)
	}
	if err != nil && origin == fresh {
		return "", errors.Join(err, c.EndMove(context.WithoutCancel(ctx), nil))
	}
	return origin, err
}

// checkUnused refuses a database that a host uses.
func (c copied) checkUnused(ctx context.Context) error {
	var hosts, connections int
	err := c.pool.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM quoin.hosts WHERE id <> $1 AND lease_until > clock_timestamp()),
			(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $2)`, c.id, applicationName).Scan(&hosts, &connections)
	if err == nil && hosts+connections > 0 {
		err = fmt.Errorf("%w: %d hosts, with %d connections", statecopy.ErrInUse, hosts, connections)
	}
	return err
}

// EndMove implements statecopy.State.
func (c copied) EndMove(ctx context.Context, outcomes []statecopy.Outcome) error {
	gone := map[string][]string{}
	for _, o := range outcomes {
		if o.What == statecopy.Copied && o.Kind != string(statedocs.Pins) {
			gone[o.Kind] = append(gone[o.Kind], o.ID)
		}
	}
	err := pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		for kind, ids := range gone {
			for _, statement := range removals(kind) {
				args := []any{ids}
				if strings.Contains(statement, "$2") {
					args = append(args, kind)
				}
				if _, err := tx.Exec(ctx, statement, args...); err != nil {
					return err
				}
			}
		}
		_, err := tx.Exec(ctx, `UPDATE quoin.installation SET moving = ''`)
		return err
	})
	if err != nil {
		return fmt.Errorf("database: %w", explained(err))
	}
	return nil
}

// removals are the statements that remove the things of a kind with the ids $1.
func removals(kind string) []string {
	switch kind {
	case string(runstore.ItemRun), string(runstore.ItemResult):
		return []string{`DELETE FROM quoin.journal WHERE run = ANY($1)`, `DELETE FROM quoin.runs WHERE id = ANY($1)`}
	case string(runstore.ItemEffects):
		return []string{`DELETE FROM quoin.effect_log WHERE run = ANY($1)`, `DELETE FROM quoin.effects WHERE run = ANY($1)`}
	case statecopy.Storage:
		return []string{`DELETE FROM quoin.plugin_entries WHERE plugin = ANY($1)`, `DELETE FROM quoin.plugin_storages WHERE plugin = ANY($1)`}
	}
	return []string{`DELETE FROM quoin.documents WHERE name = ANY($1) AND purpose = $2`}
}
