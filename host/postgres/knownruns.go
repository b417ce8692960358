package postgres

import (
	"context"
	"sync"
	"time"
)

// knownRuns is how many suspended runs the database has, as of a moment ago. To count them
// for each new run would make new runs slower the more there are.
type knownRuns struct {
	mu    sync.Mutex
	count int
	until time.Time // when it is counted again
}

const (
	exactMaximum = 10_000           // a maximum that counts exactly: so many rows are counted fast
	recount      = 10 * time.Second // how long a count is good for, far from the maximum
)

// maximum is how many suspended runs a new one must find less of: max, or 0 for no
// count at all while there is room for a tenth more than there were.
func (d *DB) maximum(ctx context.Context, max int) (int, error) {
	if max <= exactMaximum {
		return max, nil
	}
	k := &d.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Now().After(k.until) {
		err := d.retry(ctx, func(ctx context.Context) error {
			return d.pool.QueryRow(ctx, `SELECT count(*) FROM quoin.runs WHERE NOT ended AND expires > now()`).Scan(&k.count)
		})
		if err != nil {
			return 0, err
		}
		k.until = time.Now().Add(recount)
	}
	if k.count < max-max/10 {
		return 0, nil
	}
	return max, nil
}
