package sqlite

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// knownRuns is how many suspended runs this process knows of: runs of others are counted when
// the state looks full.
type knownRuns struct{ atomic.Int64 }

// runs are the runs and results of the state.
type runs struct {
	*conn
	known knownRuns
}

// Create implements runstore.Store.
func (d *runs) Create(ctx context.Context, r *runstore.Record, max int) (runstore.Claim, error) {
	if !sealedrow.IDs.MatchString(r.ID) {
		return nil, fmt.Errorf("run id %q: expected 1 to 128 letters, digits, '_' and '-'", r.ID)
	}
	d.process.owns.Store(true)
	c := &claim{d: d, id: r.ID}
	epoch := r.Epoch + 1
	for {
		row, err := d.seal.Record(r, epoch)
		if err != nil {
			return nil, err
		}
		next := epoch
		c.epoch = epoch
		err = d.take(ctx, r.ID, false, len(row.Header)+len(row.Image), func(t *tx) (err error) {
			next, err = c.create(t, r, row, epoch, max)
			return err
		}, c.release)
		if err != nil {
			return nil, err
		}
		if next == epoch {
			c.holds(sealedrow.NewestOf(r, row, nil))
			d.known.Add(1)
			return c, nil
		}
		epoch = next // there was a run with that id
	}
}

// create adds a run, or returns the epoch that its row has to have.
func (c *claim) create(t *tx, r *runstore.Record, row *sealedrow.Run, epoch uint64, max int) (next uint64, err error) {
	var n int64
	var was uint64
	var owner string
	var gone bool
	err = t.row(`SELECT n, epoch, coalesce(owner, ''), gone FROM runs WHERE id = ?`, []any{r.ID}, &n, &was, &owner, &gone)
	switch {
	case isMissing(err):
	case err != nil:
		return 0, err
	case !gone, owner != "" && c.d.owned(r.ID, owner):
		return 0, refuse(runstore.ErrClaimed)
	case was >= epoch:
		return was + 1, nil
	default:
		if err := remove(t, n); err != nil {
			return 0, err
		}
	}
	if err := c.d.known.room(t, max); err != nil {
		return 0, err
	}
	err = t.row(`INSERT INTO runs (id, epoch, owner, generation, expires, timer_due) VALUES (?, ?, ?, ?, ?, ?) RETURNING n`,
		[]any{r.ID, int64(epoch), c.d.process.id, int64(r.Generation), micros(r.Expires), microsOrNull(r.TimerDue)}, &c.n)
	if err == nil {
		err = insertRecord(t, c.n, row)
	}
	return epoch, err
}

// insertRecord adds the record or the result of a run.
func insertRecord(t *tx, n int64, row *sealedrow.Run) error {
	_, err := t.exec(`INSERT INTO records (n, header, image_sum, seal, image) VALUES (?, ?, ?, ?, ?)`, n, row.Header, row.ImageSum, row.Seal, row.Image)
	return err
}

// room refuses a run beyond the maximum.
func (k *knownRuns) room(t *tx, max int) error {
	if max <= 0 || k.Load() < int64(max) {
		return nil
	}
	var n int64
	if err := t.row(`SELECT count(*) FROM runs WHERE NOT ended AND NOT gone AND expires > ?`, []any{now()}, &n); err != nil {
		return err
	}
	if k.Store(n); n >= int64(max) {
		return refuse(runstore.ErrFull)
	}
	return nil
}

// remove deletes a run with all that is of it.
func remove(t *tx, n int64) error {
	for _, statement := range []string{`DELETE FROM journal WHERE run = ?`, `DELETE FROM records WHERE n = ?`, `DELETE FROM runs WHERE n = ?`} {
		if _, err := t.exec(statement, n); err != nil {
			return err
		}
	}
	return nil
}
