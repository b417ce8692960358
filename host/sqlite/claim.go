package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// claim is a run in the hands of this process.
type claim struct {
	d     *runs
	id    string
	n     int64 // of the run
	epoch uint64

	mu       sync.Mutex // orders writes, and Release after them
	released bool
	gone     bool // Delete has deleted the run
	known    bool // newest is what the database has
	newest   sealedrow.Newest
}

// now is the present as it is stored.
func now() int64 { return micros(time.Now()) }

// Claim implements runstore.Store.
func (d *runs) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	if !sealedrow.IDs.MatchString(id) {
		return nil, runstore.ErrNotFound
	}
	d.process.owns.Store(true)
	c := &claim{d: d, id: id}
	ctx = context.WithoutCancel(ctx) // a caller who gives up has to learn whether another process has the run
	// The first write of the claim that lasts makes it last, too.
	if err := d.take(ctx, id, true, 0, c.claim, c.release); err != nil {
		return nil, err
	}
	return c, nil
}

// claim has the run owned by this process.
func (c *claim) claim(t *tx) error {
	var owner string
	var gone bool
	err := t.row(`SELECT n, epoch, coalesce(owner, ''), gone FROM runs WHERE id = ?`, []any{c.id}, &c.n, &c.epoch, &owner, &gone)
	switch {
	case isMissing(err):
		return refuse(runstore.ErrNotFound)
	case err != nil:
		return err
	case owner != "" && c.d.owned(c.id, owner):
		return refuse(runstore.ErrClaimed)
	case gone:
		return refuse(runstore.ErrNotFound)
	}
	c.epoch++
	_, err = t.exec(`UPDATE runs SET owner = ?, epoch = ? WHERE n = ?`, c.d.process.id, int64(c.epoch), c.n)
	return err
}

// Epoch implements runstore.Claim.
func (c *claim) Epoch() uint64 { return c.epoch }

// holds notes what the database has of the record.
func (c *claim) holds(newest sealedrow.Newest) { c.newest, c.known = newest, true }

// stage is how far a run has come.
type stage int

const (
	suspended stage = iota
	ended
	gone
)

// write makes one write of the run, unless the claim is not the newest, or the run has come
// further than that. If it fails, what the database has is not known.
func (c *claim) write(ctx context.Context, bytes int, most stage, do func(*tx) error) error {
	if c.released {
		return runstore.ErrFenced
	}
	err := c.d.write(ctx, bytes, func(t *tx) error {
		if err := c.check(t, most); err != nil {
			return err
		}
		return do(t)
	})
	if err != nil {
		c.known = false
	}
	return err
}

// check answers ErrFenced for a claim that is over, and ErrNotFound for a run that has come
// further than that.
func (c *claim) check(q querier, most stage) error {
	var mine bool
	var is stage
	err := q.row(`SELECT epoch = ? AND owner = ?, ended + gone FROM runs WHERE n = ? AND id = ?`, []any{int64(c.epoch), c.d.process.id, c.n, c.id}, &mine, &is)
	switch {
	case isMissing(err), err == nil && !mine:
		return refuse(runstore.ErrFenced)
	case err != nil:
		return err
	case is > most:
		return refuse(runstore.ErrNotFound)
	}
	return nil
}

// Checkpoint implements runstore.Claim. A wake-up from before this claim is over with it: its
// holder has seen what it was about.
func (c *claim) Checkpoint(ctx context.Context, r *runstore.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ID != c.id {
		return fmt.Errorf("a record of run %s through a claim of run %s", r.ID, c.id)
	}
	row, err := c.d.seal.Record(r, c.epoch)
	if err != nil {
		return err
	}
	err = c.write(ctx, len(row.Header)+len(row.Image), suspended, func(t *tx) error {
		_, err := t.exec(`UPDATE runs SET generation = ?, expires = ?, timer_due = ?, woken = CASE WHEN woken_epoch < epoch THEN NULL ELSE woken END WHERE n = ?`,
			int64(r.Generation), micros(r.Expires), microsOrNull(r.TimerDue), c.n)
		if err == nil {
			err = c.replace(t, row)
		}
		return err
	})
	if err == nil {
		c.holds(sealedrow.NewestOf(r, row, nil))
	}
	return err
}

// replace puts a row in the place of the record and its journal.
func (c *claim) replace(t *tx, row *sealedrow.Run) error {
	_, err := t.exec(`UPDATE records SET header = ?, image_sum = ?, seal = ?, image = ? WHERE n = ?`, row.Header, row.ImageSum, row.Seal, row.Image, c.n)
	if err == nil {
		_, err = t.exec(`DELETE FROM journal WHERE run = ?`, c.n)
	}
	return err
}

// PutCalls implements runstore.Claim.
func (c *claim) PutCalls(ctx context.Context, generation uint64, calls []runstore.Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.know(ctx); err != nil {
		return err
	}
	journal, size, err := c.d.seal.Calls(c.newest.Seal, calls)
	if err != nil {
		return err
	}
	err = c.write(ctx, int(size), suspended, func(t *tx) error {
		if c.newest.Generation != generation {
			return refuse(runstore.ErrNotFound)
		}
		if err := c.newest.Takes(c.id, calls, size); err != nil {
			return refuse(err)
		}
		return c.add(t, journal, calls)
	})
	if err == nil && len(journal) > 0 {
		c.newest.Add(journal[len(journal)-1].Seal, int64(len(journal)), size)
	} else if errors.Is(err, runstore.ErrNotFound) || errors.Is(err, runstore.ErrTooLarge) {
		c.known = true // nothing has changed
	}
	return err
}

// add appends rows to the journal. The run expires no earlier than the calls are kept.
func (c *claim) add(t *tx, journal []sealedrow.Journal, calls []runstore.Call) error {
	for i, j := range journal {
		if _, err := t.exec(`INSERT INTO journal (run, n, header, seal, body) VALUES (?, ?, ?, ?, ?)`, c.n, c.newest.Rows+int64(i), j.Header, j.Seal, j.Body); err != nil {
			return err
		}
	}
	var keep time.Time
	for _, call := range calls {
		if call.KeepUntil.After(keep) {
			keep = call.KeepUntil
		}
	}
	if keep.IsZero() {
		return nil
	}
	_, err := t.exec(`UPDATE runs SET expires = max(expires, ?) WHERE n = ?`, micros(keep), c.n)
	return err
}

// know makes sure that what is known of the record is how the database has it.
func (c *claim) know(ctx context.Context) error {
	switch {
	case c.released:
		return runstore.ErrFenced
	case c.gone:
		return runstore.ErrNotFound
	case c.known:
		return nil
	}
	return c.d.read(ctx, func(q querier) error {
		if err := c.check(q, suspended); err != nil {
			return err
		}
		s, err := find(q, c.id)
		if err != nil {
			return err
		}
		r, err := c.d.seal.DecodeRecord(c.id, &s.row, s.journal, false)
		if err == nil {
			c.holds(sealedrow.NewestOf(r, &s.row, s.journal))
		}
		return err
	})
}

// End implements runstore.Claim.
func (c *claim) End(ctx context.Context, e *runstore.Ended) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.ID != c.id {
		return fmt.Errorf("the result of run %s through a claim of run %s", e.ID, c.id)
	}
	row, err := c.d.seal.Ended(e, c.epoch)
	if err != nil {
		return err
	}
	return c.write(ctx, len(row.Header)+len(row.Image), ended, func(t *tx) error {
		if err := makeRoom(t, c.n, int64(len(row.Image))); err != nil {
			return err
		}
		_, err := t.exec(`UPDATE runs SET ended = 1, generation = 0, expires = ?, timer_due = NULL, woken = NULL WHERE n = ?`, micros(e.Expires), c.n)
		if err == nil {
			err = c.replace(t, row)
		}
		return err
	})
}

// makeRoom deletes the results that expire first until another of that size fits.
func makeRoom(t *tx, of, size int64) error {
	var results, sizes []int64
	err := t.rows(`SELECT n, length(image) FROM runs JOIN records USING (n) WHERE ended AND NOT gone AND n <> ? ORDER BY expires, id`, []any{of},
		func(scan func(...any) error) error {
			var n, bytes int64
			err := scan(&n, &bytes)
			results, sizes = append(results, n), append(sizes, bytes)
			return err
		})
	if err != nil {
		return err
	}
	for _, n := range results[:runstore.Superfluous(sizes, size)] {
		if err := remove(t, n); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements runstore.Claim. The run stays this claim's, and its id taken, until Release.
func (c *claim) Delete(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone && !c.released {
		return nil
	}
	err := c.write(ctx, 0, gone, func(t *tx) error {
		_, err := t.exec(`UPDATE runs SET gone = 1, ended = 1, generation = 0, expires = 0, timer_due = NULL, woken = NULL WHERE n = ?`, c.n)
		if err == nil {
			err = c.replace(t, &sealedrow.Run{Header: []byte{}, ImageSum: []byte{}, Seal: []byte{}, Image: []byte{}})
		}
		return err
	})
	c.gone = c.gone || err == nil
	return err
}

// Release implements runstore.Claim. If the database cannot be told, it is told later.
func (c *claim) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.released {
		c.released = true
		c.d.letGo(c.id, c.release)
	}
}

// release lets others have the run. A wake-up from before the claim has been answered by it.
func (c *claim) release(t *tx) error {
	var gone bool
	err := t.row(`SELECT gone FROM runs WHERE n = ? AND id = ? AND epoch = ? AND owner = ?`, []any{c.n, c.id, int64(c.epoch), c.d.process.id}, &gone)
	switch {
	case isMissing(err):
		return nil // another process has it
	case err != nil:
		return err
	case gone:
		return remove(t, c.n)
	}
	_, err = t.exec(`UPDATE runs SET owner = NULL, woken = CASE WHEN woken_epoch < epoch THEN NULL ELSE woken END WHERE n = ?`, c.n)
	return err
}
