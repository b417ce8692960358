package postgres

import (
	"context"
	"sync"
	"time"
)

// exactMaximum is a maximum that counts exactly: so many rows are counted fast.
const exactMaximum = 10_000

// knownRuns is how many suspended runs the database has, as of a moment ago. To count them
// for each new run would make new runs slower the more there are.
type knownRuns struct {
	mu      sync.Mutex
	counted bool // once at least
	count   int
	until   time.Time // when it is counted again
}

// maximum is how many suspended runs a new one must find less of: max, or 0 for no
// count at all while there is room for a tenth more than there were.
func (d *runs) maximum(ctx context.Context, max int) (int, error) {
	if max <= exactMaximum {
		return max, nil
	}
	k := &d.known
	if k.isDue(d.times.recount) {
		if err := d.countRuns(ctx); err != nil {
			return 0, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.counted && k.count < max-max/10 {
		return 0, nil
	}
	return max, nil
}

// isDue reports whether the caller is to count. Until then others use the last count: they do
// not wait for a database that is away longer than for their own statements.
func (k *knownRuns) isDue(recount time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !time.Now().After(k.until) {
		return false
	}
	k.until = time.Now().Add(recount)
	return true
}

// countRuns counts the suspended runs of the database.
func (d *runs) countRuns(ctx context.Context) error {
	var n int
	err := d.retry(ctx, func(ctx context.Context) error {
		return d.pool.QueryRow(ctx, `SELECT count(*) FROM quoin.runs WHERE NOT ended AND expires > now()`).Scan(&n)
	})
	k := &d.known
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.until = time.Time{}
		return err
	}
	k.counted, k.count = true, n
	return nil
}
