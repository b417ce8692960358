package sqlite

import (
	"context"
	"errors"
)

// freeDead frees what processes owned that have died.
func (d *conn) freeDead(ctx context.Context) error {
	_, gone, err := d.process.known()
	if err != nil {
		return err
	}
	var owners []string
	for _, g := range gone {
		owners = append(owners, g.owner)
	}
	err = d.free(ctx, owners)
	for _, g := range gone {
		if err == nil {
			g.forget(d.process)
		} else {
			err = errors.Join(err, g.lock.Close())
		}
	}
	return err
}

// freeAllDead is freeDead also for processes without a file: a machine that failed may have
// lost it.
func (d *conn) freeAllDead() error {
	var owners []string
	err := d.read(d.ctx, func(q querier) error {
		return q.rows(`SELECT owner FROM runs WHERE owner IS NOT NULL UNION SELECT owner FROM effects WHERE owner IS NOT NULL UNION SELECT owner FROM reserved`, nil,
			func(scan func(...any) error) error {
				var owner string
				err := scan(&owner)
				if err == nil && !d.process.lives(owner) {
					owners = append(owners, owner)
				}
				return err
			})
	})
	if err != nil {
		return err
	}
	return errors.Join(d.free(d.ctx, owners), d.freeDead(d.ctx))
}

// freeOwn frees what this process owns, at its end.
func (d *conn) freeOwn() error {
	if !d.process.owns.Load() {
		return nil
	}
	return d.free(context.Background(), []string{d.process.id})
}

// free frees what owners have. Their runs are due: a process may have died with work left.
func (d *conn) free(ctx context.Context, owners []string) error {
	if len(owners) == 0 {
		return nil
	}
	return d.write(ctx, 0, func(t *tx) error {
		for _, owner := range owners {
			for _, statement := range []string{
				`DELETE FROM records WHERE n IN (SELECT n FROM runs WHERE owner = ? AND gone)`,
				`DELETE FROM runs WHERE owner = ? AND gone`,
				`UPDATE runs SET owner = NULL, woken = coalesce(woken, unixepoch() * 1000000), woken_epoch = epoch WHERE owner = ?`,
				`UPDATE effects SET owner = NULL WHERE owner = ?`,
				`DELETE FROM reserved WHERE owner = ?`,
			} {
				if _, err := t.exec(statement, owner); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// owned reports whether an owner has a run still. A run of this process that it has released,
// and could not say so, is free.
func (d *conn) owned(id, owner string) bool {
	if owner == d.process.id {
		return !d.unreleased.has(id)
	}
	return d.process.lives(owner)
}
