package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A host may own runs, journals of effects and reservations in the database that it does not
// know of: a release has failed, or a claim that was given up has counted, at once or when it arrived
// late. Other hosts cannot have them while this one lives, so it finds and frees them.

// lookEvery is after how many renewals of the lease a host looks for what it owns unawares.
const lookEvery = 6

// releaseForgotten frees what the database may say this host owns, though it has no claim
// of it. With look it asks the database for that first, and puts back the reservations that
// the database has lost; so it does after a gap of the lease. It does not keep the next renewal of
// the lease waiting for a run that is locked.
func (c *claims) releaseForgotten(ctx context.Context, gaps uint64, look bool) {
	ctx, cancel := context.WithTimeout(ctx, min(c.times.release, c.options.Lease/3))
	defer cancel()
	if look || gaps != c.mended.Load() {
		err := c.reserveAgain(ctx)
		if err == nil {
			c.mended.Store(gaps)
			err = c.findForgotten(ctx)
		}
		if err != nil {
			c.log.Debug("what this host owns was not looked for", "error", err)
		}
	}
	names := c.takeForgotten()
	if len(names) == 0 {
		return
	}
	err := c.releaseAll(ctx, names)
	if err != nil {
		c.log.Debug("runs were not released", "runs", len(names), "error", err)
	}
	for _, name := range names {
		c.free(name, err != nil)
	}
}

// reserveAgain puts back what this host has reserved and the database has lost: a sweep
// deletes the reservations of a host once its lease is over, and a failover loses the newest.
// A reservation that is released at the same time is found by findForgotten.
func (c *claims) reserveAgain(ctx context.Context) error {
	runs := c.reserved()
	if len(runs) == 0 {
		return nil
	}
	_, err := c.own.Exec(ctx, `INSERT INTO quoin.reserved (run, owner) SELECT unnest($1::text[]), $2 ON CONFLICT (run) DO NOTHING`, runs, c.id)
	return err
}

// findForgotten looks for what this host owns and has no claim of. One that was released
// since the database has answered is looked at again by releaseAll. The result of a run
// can be read all the same: see findForgottenResults.
func (c *claims) findForgotten(ctx context.Context) error {
	var owned []string
	err := c.own.QueryRow(ctx, `
		SELECT coalesce(array_agg(name), '{}') FROM (
			SELECT id AS name FROM quoin.runs WHERE owner = $1 AND NOT ended AND octet_length(id) <= $5
			UNION ALL SELECT $2 || run FROM quoin.effects WHERE owner = $1 AND octet_length(run) <= $5
			UNION ALL SELECT $3 || run FROM quoin.reserved WHERE owner = $1 AND octet_length(run) <= $5
			LIMIT $4
		) AS owned`, c.id, ofEffects, ofReserved, maxOwned, maxID).Scan(&owned)
	if err == nil {
		c.forget(owned)
	}
	return err
}

// findForgottenResults looks for results, and runs that are gone, which this host owns and has no
// claim of: no sweep takes them otherwise. There may be many, so this is part of a sweep.
func (c *claims) findForgottenResults(ctx context.Context) error {
	return c.retry(ctx, func(ctx context.Context) error {
		var owned []string
		err := c.pool.QueryRow(ctx, `
			SELECT coalesce(array_agg(id), '{}') FROM (
				SELECT id FROM quoin.runs WHERE owner = $1 AND ended AND octet_length(id) <= $3 LIMIT $2
			) AS owned`, c.id, maxOwned, maxID).Scan(&owned)
		if err == nil {
			c.forget(owned)
		}
		return err
	})
}

// releaseAll frees runs, journals and reservations that no one in this process claims. The
// runs are due: their last host may have died with work left.
func (c *claims) releaseAll(ctx context.Context, names []string) error {
	var runs, journals, reserved []string
	for _, name := range names {
		if run, is := strings.CutPrefix(name, ofEffects); is {
			journals = append(journals, run)
		} else if run, is := strings.CutPrefix(name, ofReserved); is {
			reserved = append(reserved, run)
		} else {
			runs = append(runs, name)
		}
	}
	return errors.Join(
		c.releaseOwned(ctx, runs, `SELECT id, epoch FROM quoin.runs WHERE id = ANY($1) AND owner = $2`, `
			WITH owned AS (
				SELECT * FROM unnest($1::text[], $2::bigint[]) AS o (id, epoch)
			), gone AS (
				DELETE FROM quoin.runs r USING owned o WHERE r.id = o.id AND r.epoch = o.epoch AND r.owner = $3 AND r.gone
			)
			UPDATE quoin.runs r SET owner = NULL, woken = CASE WHEN NOT r.ended THEN coalesce(r.woken, now()) END, woken_epoch = r.epoch
			FROM owned o WHERE r.id = o.id AND r.epoch = o.epoch AND r.owner = $3 AND NOT r.gone`),
		c.releaseOwned(ctx, journals, `SELECT run, epoch FROM quoin.effects WHERE run = ANY($1) AND owner = $2`, `
			UPDATE quoin.effects e SET owner = NULL FROM unnest($1::text[], $2::bigint[]) AS o (run, epoch)
			WHERE e.run = o.run AND e.epoch = o.epoch AND e.owner = $3`),
		c.releaseReserved(ctx, reserved))
}

// releaseReserved deletes reservations of this host. One that arrives late and deletes a newer
// one is made good by reserveAgain.
func (c *claims) releaseReserved(ctx context.Context, runs []string) error {
	if len(runs) == 0 {
		return nil
	}
	_, err := c.own.Exec(ctx, `DELETE FROM quoin.reserved WHERE run = ANY($1) AND owner = $2`, runs, c.id)
	return err
}

// releaseOwned frees the runs among runs that this host owns: find returns them with their
// epochs, and free takes both. So what frees them may arrive when this host has given it up
// and has claimed one of them again.
func (c *claims) releaseOwned(ctx context.Context, runs []string, find, free string) error {
	if len(runs) == 0 {
		return nil
	}
	rows, err := c.own.Query(ctx, find, runs, c.id)
	if err != nil {
		return err
	}
	var owned []string
	var epochs []int64
	var run string
	var epoch int64
	_, err = pgx.ForEachRow(rows, []any{&run, &epoch}, func() error {
		owned, epochs = append(owned, run), append(epochs, epoch)
		return nil
	})
	if err != nil || len(owned) == 0 {
		return err
	}
	_, err = c.own.Exec(ctx, free, owned, epochs, c.id)
	return err
}
