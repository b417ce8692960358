package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// findEffects reads a journal of effects, or answers runstore.ErrNotFound.
func findEffects(d *conn, q querier, runID string) (*effectJournal, error) {
	o := &effectJournal{d: d, run: runID}
	var header sealedrow.Effect
	var bytes int64
	err := q.row(`SELECT n, length(header) + length(seal) + (SELECT coalesce(sum(length(header) + length(seal)), 0) FROM effect_log WHERE run = e.n)
		FROM effects e WHERE run = ?`, []any{runID}, &o.n, &bytes)
	if isMissing(err) {
		return nil, runstore.ErrNotFound
	}
	if err == nil {
		err = sealedrow.CheckSize(bytes, sealedrow.MaxEffectsRead)
	}
	if err == nil {
		err = q.row(`SELECT header, seal FROM effects WHERE n = ?`, []any{o.n}, &header.Header, &header.Seal)
	}
	if err != nil {
		return nil, err
	}
	o.seal = header.Seal
	var log []sealedrow.Effect
	err = q.rows(`SELECT n, header, seal FROM effect_log WHERE run = ? ORDER BY n`, []any{o.n}, func(scan func(...any) error) error {
		var e sealedrow.Effect
		err := scan(&o.last, &e.Header, &e.Seal)
		log, o.seal, o.bytes = append(log, e), e.Seal, o.bytes+int64(len(e.Header))
		return err
	})
	if err != nil {
		return nil, err
	}
	o.rows = len(log)
	o.journal, err = d.seal.DecodeEffects(runID, header, log)
	return o, err
}

// effects are the journals of effects of the state.
type effects struct{ *conn }

// Effects implements runstore.EffectStore.
func (d *effects) Effects(ctx context.Context, runID string) (j *runstore.Effects, err error) {
	if !sealedrow.IDs.MatchString(runID) {
		return nil, runstore.ErrNotFound
	}
	err = d.read(ctx, func(q querier) error {
		o, err := findEffects(d.conn, q, runID)
		if err == nil {
			j = o.journal
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return j, sealedrow.Expired(j.Expires, time.Now())
}

// ListEffects implements runstore.EffectStore. A journal that does not verify is left out.
func (d *effects) ListEffects(ctx context.Context) (out []*runstore.Effects, err error) {
	now := time.Now()
	err = d.read(ctx, func(q querier) error {
		out = nil
		return q.rows(`SELECT run, header, seal FROM effects WHERE length(header) <= ? ORDER BY created, run LIMIT ?`,
			[]any{sealedrow.MaxEffectHeader, 2 * runstore.MaxEffectRuns}, func(scan func(...any) error) error {
				var run string
				var header sealedrow.Effect
				if err := scan(&run, &header.Header, &header.Seal); err != nil {
					return err
				}
				if j, err := d.seal.DecodeEffects(run, header, nil); err == nil && now.Before(j.Expires) {
					out = append(out, j)
				}
				return nil
			})
	})
	return out, err
}

// OpenEffects implements runstore.EffectStore.
func (d *effects) OpenEffects(ctx context.Context, runID string, header *runstore.Effects) (runstore.EffectJournal, error) {
	if !sealedrow.IDs.MatchString(runID) {
		return nil, runstore.ErrNotFound
	}
	d.process.owns.Store(true)
	var o *effectJournal
	err := d.take(ctx, effectsOf+runID, false, 0, func(t *tx) (err error) {
		o, err = openEffects(d.conn, t, runID, header)
		return err
	}, func(t *tx) error { return o.release(t) })
	if err != nil {
		return nil, err
	}
	return o, nil
}

// effectsOf starts what a journal of effects is called. No id has a slash.
const effectsOf = "effects/"

// openEffects claims a journal, and makes it if there is a header.
func openEffects(d *conn, t *tx, runID string, header *runstore.Effects) (*effectJournal, error) {
	var owner string
	err := t.row(`SELECT coalesce(owner, '') FROM effects WHERE run = ?`, []any{runID}, &owner)
	switch {
	case isMissing(err) && header == nil:
		return nil, refuse(runstore.ErrNotFound)
	case isMissing(err):
		return makeEffects(d, t, runID, header)
	case err != nil:
		return nil, err
	case owner != "" && d.owned(effectsOf+runID, owner):
		return nil, refuse(runstore.ErrClaimed)
	}
	o, err := findEffects(d, t, runID)
	if errors.Is(err, runstore.ErrCorrupt) {
		return nil, refuse(err)
	}
	if err != nil {
		return nil, err
	}
	if err := sealedrow.Expired(o.journal.Expires, time.Now()); err != nil {
		if header == nil {
			return nil, refuse(err)
		}
		if err := removeEffects(t, o.n); err != nil {
			return nil, err
		}
		return makeEffects(d, t, runID, header)
	}
	return o, t.row(`UPDATE effects SET owner = ?, epoch = epoch + 1 WHERE n = ? RETURNING epoch`, []any{d.process.id, o.n}, &o.epoch)
}

// makeEffects makes a journal. The journals that were made first make room.
func makeEffects(d *conn, t *tx, runID string, header *runstore.Effects) (*effectJournal, error) {
	j := *header
	j.RunID, j.Effects = runID, nil
	sealed, err := d.seal.EffectsHeader(&j)
	if err != nil {
		return nil, refuse(err)
	}
	var many []int64
	err = t.rows(`SELECT n FROM effects WHERE owner IS NULL ORDER BY created, run LIMIT max(0, (SELECT count(*) FROM effects) - ?)`, []any{runstore.MaxEffectRuns - 1},
		func(scan func(...any) error) error {
			var n int64
			err := scan(&n)
			many = append(many, n)
			return err
		})
	for _, n := range many {
		err = errors.Join(err, removeEffects(t, n))
	}
	if err != nil {
		return nil, err
	}
	o := &effectJournal{d: d, run: runID, epoch: 1, journal: &j, seal: sealed.Seal}
	return o, t.row(`INSERT INTO effects (run, owner, epoch, created, expires, header, seal) VALUES (?, ?, 1, ?, ?, ?, ?) RETURNING n`,
		[]any{runID, d.process.id, micros(j.Created), micros(j.Expires), sealed.Header, sealed.Seal}, &o.n)
}

func removeEffects(t *tx, n int64) error {
	_, err := t.exec(`DELETE FROM effect_log WHERE run = ?`, n)
	if err == nil {
		_, err = t.exec(`DELETE FROM effects WHERE n = ?`, n)
	}
	return err
}

// effectJournal is a journal of effects in the hands of its writer.
type effectJournal struct {
	d     *conn
	run   string
	n     int64
	epoch int64

	mu      sync.Mutex
	closed  bool
	unsure  bool // what the database has is not known
	journal *runstore.Effects
	seal    []byte // of the newest row
	last    int64  // its number
	rows    int
	bytes   int64
}

// Effects implements runstore.EffectJournal.
func (o *effectJournal) Effects() *runstore.Effects {
	o.mu.Lock()
	defer o.mu.Unlock()
	j := *o.journal
	j.Effects = slices.Clone(o.journal.Effects)
	return &j
}

// Put implements runstore.EffectJournal.
func (o *effectJournal) Put(sync bool, effects ...runstore.Effect) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return runstore.ErrClaimed
	}
	omitted := o.journal.Omitted
	kept := o.journal.Apply(effects...)
	if o.unsure || o.journal.Omitted != omitted || o.rows+len(kept) > sealedrow.MaxEffectRows || o.bytes > sealedrow.MaxEffectLog {
		return o.rewrite(sync)
	}
	log, size, err := o.d.seal.Effects(o.seal, kept)
	if err != nil || len(log) == 0 {
		return err
	}
	return o.write(sync, size, log, func(*tx) error { return nil })
}

// rewrite puts the journal as it is in the place of the rows that the database has.
func (o *effectJournal) rewrite(sync bool) error {
	header, err := o.d.seal.EffectsHeader(o.journal)
	if err != nil {
		return err
	}
	log, size, err := o.d.seal.Effects(header.Seal, o.journal.Effects)
	if err != nil {
		return err
	}
	o.rows, o.bytes, o.seal = 0, 0, header.Seal
	return o.write(sync, size, log, func(t *tx) error {
		_, err := t.exec(`DELETE FROM effect_log WHERE run = ?`, o.n)
		if err == nil {
			_, err = t.exec(`UPDATE effects SET header = ?, seal = ? WHERE n = ?`, header.Header, header.Seal, o.n)
		}
		return err
	})
}

// write adds rows after the newest, after what prepare does.
func (o *effectJournal) write(sync bool, size int64, log []sealedrow.Effect, prepare func(*tx) error) error {
	write := o.d.write
	if !sync {
		write = o.d.writeLazily
	}
	o.unsure = true
	err := write(context.Background(), int(size), func(t *tx) error {
		var mine bool
		err := t.row(`SELECT owner = ? AND epoch = ? FROM effects WHERE n = ? AND run = ?`, []any{o.d.process.id, o.epoch, o.n, o.run}, &mine)
		if isMissing(err) || err == nil && !mine {
			return refuse(runstore.ErrFenced)
		}
		if err == nil {
			err = prepare(t)
		}
		for i, e := range log {
			if err != nil {
				return err
			}
			_, err = t.exec(`INSERT INTO effect_log (run, n, header, seal) VALUES (?, ?, ?, ?)`, o.n, o.last+int64(i)+1, e.Header, e.Seal)
		}
		return err
	})
	if err != nil {
		return err
	}
	o.unsure = false
	o.last, o.rows, o.bytes = o.last+int64(len(log)), o.rows+len(log), o.bytes+size
	if len(log) > 0 {
		o.seal = log[len(log)-1].Seal
	}
	return nil
}

// Close implements runstore.EffectJournal.
func (o *effectJournal) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	o.d.letGo(effectsOf+o.run, o.release)
}

// release lets others have the journal.
func (o *effectJournal) release(t *tx) error {
	_, err := t.exec(`UPDATE effects SET owner = NULL WHERE n = ? AND owner = ? AND epoch = ?`, o.n, o.d.process.id, o.epoch)
	return err
}
