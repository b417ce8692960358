package sqlite

import (
	"context"
	"sync"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// wokenRuns is the purpose under which changes counts runs that were woken.
const wokenRuns = "woken runs"

// Wake implements runstore.Scheduler. The mark may be lost with the machine: then the records
// and the approvals say what it said.
func (d *runs) Wake(ctx context.Context, id string) error {
	woken := false
	err := d.writeLazily(ctx, 0, func(t *tx) error {
		var n int64
		err := t.row(`SELECT n FROM runs WHERE id = ? AND NOT ended`, []any{id}, &n)
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		count, err := t.count(wokenRuns, "")
		if err == nil {
			_, err = t.exec(`UPDATE runs SET woken = coalesce(woken, ?), woken_epoch = epoch, hint = ? WHERE n = ?`, now(), count, n)
		}
		woken = err == nil
		return err
	})
	if err == nil && woken {
		d.changes.look()
	}
	return err
}

// Due implements runstore.Scheduler. A process claims runs that have calls in flight, or that
// it drives. Once it has died they are due.
func (d *runs) Due(ctx context.Context, limit int) (ids []string, err error) {
	d.letGoAgain()
	if err := d.freeDead(ctx); err != nil {
		return nil, err
	}
	err = d.read(ctx, func(q querier) error {
		ids = nil
		return q.rows(`SELECT id FROM runs WHERE due <= ? AND NOT ended AND owner IS NULL AND expires > ? ORDER BY due, id LIMIT ?`,
			[]any{now(), now(), max(limit, 0)}, func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				ids = append(ids, id)
				return err
			})
	})
	return ids, err
}

// Watch implements runstore.Scheduler.
func (d *runs) Watch(ctx context.Context) <-chan string {
	c := make(chan string, maxHints)
	woken := kind{purpose: wokenRuns}
	last := d.changeCounts()[woken] // runs that were woken before are for Due
	heard := d.changes.watch(ctx, d.conn, woken)
	d.done.Go(func() {
		defer close(c)
		for {
			select {
			case <-ctx.Done():
				return
			case <-d.ctx.Done():
				return
			case <-heard:
			}
			ids, newest := d.wokenSince(ctx, last)
			last = max(last, newest)
			for _, id := range ids {
				select {
				case c <- id:
				default: // Due finds what is lost
				}
			}
		}
	})
	return c
}

// maxHints is how many ids a channel of Watch holds for a slow reader, who loses the others.
const maxHints = 1024

// wokenSince returns the runs that were woken after a change, and the newest change. What it
// cannot read Due finds.
func (d *runs) wokenSince(ctx context.Context, last int64) (ids []string, newest int64) {
	err := d.read(ctx, func(q querier) error {
		return q.rows(`SELECT id, hint FROM runs WHERE hint > ? ORDER BY hint LIMIT ?`, []any{last, maxHints}, func(scan func(...any) error) error {
			var id string
			err := scan(&id, &newest)
			ids = append(ids, id)
			return err
		})
	})
	if err != nil && ctx.Err() == nil {
		d.log.Debug("runs that were woken were not looked for", "error", err)
	}
	return ids, newest
}

// Reserve implements runstore.Identified.
func (d *runs) Reserve(ctx context.Context, id string) (release func(), err error) {
	if !sealedrow.IDs.MatchString(id) {
		return nil, runstore.ErrNotFound
	}
	d.process.owns.Store(true)
	name := reservation + id
	free := func(t *tx) error {
		_, err := t.exec(`DELETE FROM reserved WHERE run = ? AND owner = ?`, id, d.process.id)
		return err
	}
	err = d.take(ctx, name, true, 0, func(t *tx) error {
		var owner string
		err := t.row(`SELECT owner FROM reserved WHERE run = ?`, []any{id}, &owner)
		switch {
		case err == nil && d.owned(name, owner):
			return refuse(runstore.ErrClaimed)
		case err != nil && !isMissing(err):
			return err
		}
		_, err = t.exec(`INSERT INTO reserved (run, owner) VALUES (?, ?) ON CONFLICT (run) DO UPDATE SET owner = excluded.owner`, id, d.process.id)
		return err
	}, free)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { d.letGo(name, free) }), nil
}

// reservation starts what a reservation is called. No id has a slash.
const reservation = "reserved/"
