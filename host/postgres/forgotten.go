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
func (d *DB) releaseForgotten(ctx context.Context, look bool) {
	ctx, cancel := context.WithTimeout(ctx, min(d.times.release, d.options.Lease/3))
	defer cancel()
	if gaps := d.lease.gaps.Load(); look || gaps != d.lease.mended.Load() {
		err := d.reserveAgain(ctx)
		if err == nil {
			d.lease.mended.Store(gaps)
			err = d.findForgotten(ctx)
		}
		if err != nil {
			d.log.Debug("what this host owns was not looked for", "error", err)
		}
	}
	names := d.claims.takeForgotten()
	if len(names) == 0 {
		return
	}
	err := d.releaseAll(ctx, names)
	if err != nil {
		d.log.Debug("runs were not released", "runs", len(names), "error", err)
	}
	for _, name := range names {
		d.claims.free(name, err != nil)
	}
}

// findForgotten looks for what this host owns and has no claim of. One that was released
// since the database has answered is looked at again by releaseAll. The result of a run
// can be read all the same: see findForgottenResults.
func (d *DB) findForgotten(ctx context.Context) error {
	var owned []string
	err := d.own.QueryRow(ctx, `
		SELECT coalesce(array_agg(name), '{}') FROM (
			SELECT id AS name FROM quoin.runs WHERE owner = $1 AND NOT ended AND octet_length(id) <= $5
			UNION ALL SELECT $2 || run FROM quoin.effects WHERE owner = $1 AND octet_length(run) <= $5
			UNION ALL SELECT $3 || run FROM quoin.reserved WHERE owner = $1 AND octet_length(run) <= $5
			LIMIT $4
		) AS owned`, d.id, ofEffects, ofReserved, maxOwned, maxID).Scan(&owned)
	if err == nil {
		d.claims.forget(owned)
	}
	return err
}

// findForgottenResults looks for results, and runs that are gone, which this host owns and has no
// claim of: no sweep takes them otherwise. There may be many, so this is part of a sweep.
func (d *DB) findForgottenResults(ctx context.Context) error {
	return d.retry(ctx, func(ctx context.Context) error {
		var owned []string
		err := d.pool.QueryRow(ctx, `
			SELECT coalesce(array_agg(id), '{}') FROM (
				SELECT id FROM quoin.runs WHERE owner = $1 AND ended AND octet_length(id) <= $3 LIMIT $2
			) AS owned`, d.id, maxOwned, maxID).Scan(&owned)
		if err == nil {
			d.claims.forget(owned)
		}
		return err
	})
}

// releaseAll frees runs, journals and reservations that no one in this process claims. The
// runs are due: their last host may have died with work left.
func (d *DB) releaseAll(ctx context.Context, names []string) error {
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
		d.releaseOwned(ctx, runs, `SELECT id, epoch FROM quoin.runs WHERE id = ANY($1) AND owner = $2`, `
			WITH owned AS (
				SELECT * FROM unnest($1::text[], $2::bigint[]) AS o (id, epoch)
			), gone AS (
				DELETE FROM quoin.runs r USING owned o WHERE r.id = o.id AND r.epoch = o.epoch AND r.owner = $3 AND r.gone
			)
			UPDATE quoin.runs r SET owner = NULL, woken = CASE WHEN NOT r.ended THEN coalesce(r.woken, now()) END, woken_epoch = r.epoch
			FROM owned o WHERE r.id = o.id AND r.epoch = o.epoch AND r.owner = $3 AND NOT r.gone`),
		d.releaseOwned(ctx, journals, `SELECT run, epoch FROM quoin.effects WHERE run = ANY($1) AND owner = $2`, `
			UPDATE quoin.effects e SET owner = NULL FROM unnest($1::text[], $2::bigint[]) AS o (run, epoch)
			WHERE e.run = o.run AND e.epoch = o.epoch AND e.owner = $3`),
		d.releaseReserved(ctx, reserved))
}

// releaseReserved deletes reservations of this host. One that arrives late and deletes a newer
// one is made good by reserveAgain.
func (d *DB) releaseReserved(ctx context.Context, runs []string) error {
	if len(runs) == 0 {
		return nil
	}
	_, err := d.own.Exec(ctx, `DELETE FROM quoin.reserved WHERE run = ANY($1) AND owner = $2`, runs, d.id)
	return err
}

// releaseOwned frees the runs among runs that this host owns: find returns them with their
// epochs, and free takes both. So what frees them may arrive when this host has given it up
// and has claimed one of them again.
func (d *DB) releaseOwned(ctx context.Context, runs []string, find, free string) error {
	if len(runs) == 0 {
		return nil
	}
	rows, err := d.own.Query(ctx, find, runs, d.id)
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
	_, err = d.own.Exec(ctx, free, owned, epochs, d.id)
	return err
}
