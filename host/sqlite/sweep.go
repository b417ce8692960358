package sqlite

import (
	"context"
	"time"
)

// sweepRows bounds what one transaction of a sweep deletes, so that others need not wait long.
const sweepRows = 100

// Sweep implements runstore.Store.
func (d *runs) Sweep(ctx context.Context, at time.Time) (left int, err error) {
	d.letGoAgain()
	if err := d.freeAllDead(); err != nil {
		return 0, err
	}
	for _, sweep := range []func(*tx, time.Time) (bool, error){sweepRuns, sweepEffects} {
		for more := true; more; {
			err := d.write(ctx, maxWriteBytes, func(t *tx) (err error) {
				more, err = sweep(t, at)
				return err
			})
			if err != nil {
				return 0, err
			}
		}
	}
	if err := d.vacuum(); err != nil {
		return 0, err
	}
	err = d.read(ctx, func(q querier) error {
		return q.row(`SELECT count(*) FROM runs WHERE NOT ended AND NOT gone`, nil, &left)
	})
	if err == nil {
		d.known.Store(int64(left))
	}
	return left, err
}

// sweepRuns deletes some runs and results that have expired and are not claimed.
func sweepRuns(t *tx, at time.Time) (more bool, err error) {
	old, err := t.numbers(`SELECT n FROM runs WHERE expires <= ? AND owner IS NULL LIMIT ?`, micros(at))
	for _, n := range old {
		if err := remove(t, n); err != nil {
			return false, err
		}
	}
	return len(old) == sweepRows, err
}

// sweepEffects deletes some journals that have expired and have no writer.
func sweepEffects(t *tx, at time.Time) (more bool, err error) {
	old, err := t.numbers(`SELECT n FROM effects WHERE expires <= ? AND owner IS NULL LIMIT ?`, micros(at))
	for _, n := range old {
		if err := removeEffects(t, n); err != nil {
			return false, err
		}
	}
	return len(old) == sweepRows, err
}

// numbers returns the numbers of rows that are old at a time, at most sweepRows.
func (t *tx) numbers(text string, at int64) (old []int64, err error) {
	err = t.rows(text, []any{at, sweepRows}, func(scan func(...any) error) error {
		var n int64
		err := scan(&n)
		old = append(old, n)
		return err
	})
	return old, err
}
