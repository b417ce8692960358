package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

// claim is a run in the hands of this process.
type claim struct {
	d     *runs
	id    string
	epoch uint64
	gaps  atomic.Uint64 // of the lease, when the run was known to be this claim's

	mu       sync.Mutex
	released bool
	gone     bool   // Delete has deleted the run
	row      []byte // the seal of the run's row as the database has it; nil if that is not known
	known    bool   // newest is what the database has
	newest   sealedrow.Newest
}

// newClaim is a claim that the database has granted to a statement, which was sent after the
// lease had that many gaps.
func (d *runs) newClaim(id string, epoch, gaps uint64) *claim {
	d.claims.mu.Lock()
	defer d.claims.mu.Unlock()
	d.claims.held[id] = epoch
	c := &claim{d: d, id: id, epoch: epoch}
	c.gaps.Store(gaps)
	return c
}

// due is when the timer of a run is over, as a column.
func due(r *runstore.Record) *time.Time {
	if r.TimerDue.IsZero() {
		return nil
	}
	return &r.TimerDue
}

// Held implements runstore.Leased. Others could take the run in each gap of the lease.
func (c *claim) Held() bool {
	return !c.d.Lapsed() && c.d.lease.gaps.Load() == c.gaps.Load() // in this order: a renewal counts its gap first
}

// Renew implements runstore.Leased.
func (c *claim) Renew(ctx context.Context) error {
	for !c.Held() {
		if c.d.Lapsed() {
			if err := c.d.renew(ctx); err != nil {
				return fmt.Errorf("lease of this host: %w", err)
			}
		}
		gaps := c.d.lease.gaps.Load()
		mine, err := c.isMine(ctx)
		if err != nil {
			return err
		}
		if !mine {
			return runstore.ErrFenced
		}
		c.gaps.Store(gaps)
	}
	return nil
}

// isMine asks the database whether the run is this claim's still.
func (c *claim) isMine(ctx context.Context) (mine bool, err error) {
	err = c.d.retry(ctx, func(ctx context.Context) error {
		return c.d.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM quoin.runs WHERE id = $1 AND epoch = $2 AND owner = $3)`, c.id, int64(c.epoch), c.d.id).Scan(&mine)
	})
	if err != nil {
		err = fmt.Errorf("database: %w", err)
	}
	return mine, err
}

// Epoch implements runstore.Claim.
func (c *claim) Epoch() uint64 { return c.epoch }

// holds notes which record is the newest.
func (c *claim) holds(r *runstore.Record, row *sealedrow.Run, journal []sealedrow.Journal) {
	c.newest, c.row, c.known = sealedrow.NewestOf(r, row, journal), row.Seal, true
}

// forgets notes that a write may have counted, or may yet: its statement can reach the
// database when this process has long given it up.
func (c *claim) forgets() { c.row, c.known = nil, false }

// errRowsLost is what a statement found that follows rows which the database does not have:
// a crash or a failover has lost them after it had answered.
var errRowsLost = errors.New("the database has lost rows of the run")

// write makes one statement that says how many rows it wrote, and answers ErrFenced if the
// run was not this claim's. A negative number is errRowsLost.
func (c *claim) write(ctx context.Context, statement string, args ...any) error {
	return c.send(ctx, nil, statement, args)
}

// supersede is write for a statement that deletes the journal. It waits for the row before
// the statement looks at the journal: an earlier one that was given up may be adding to it.
func (c *claim) supersede(ctx context.Context, statement string, args ...any) error {
	return c.send(ctx, []string{`SELECT FROM quoin.runs WHERE id = $1 FOR NO KEY UPDATE`}, statement, args)
}

func (c *claim) send(ctx context.Context, before []string, statement string, args []any) error {
	if c.released {
		return runstore.ErrFenced
	}
	var wrote int64
	err := c.d.retry(ctx, func(ctx context.Context) error {
		var batch pgx.Batch // one transaction, and a snapshot for each statement
		for _, sql := range before {
			batch.Queue(sql, c.id)
		}
		batch.Queue(statement, append([]any{c.id, int64(c.epoch), c.d.id}, args...)...).QueryRow(func(row pgx.Row) error { return row.Scan(&wrote) })
		return c.d.pool.SendBatch(ctx, &batch).Close()
	})
	if err != nil {
		c.forgets()
		return fmt.Errorf("database: %w", err)
	}
	if wrote > 0 {
		return nil
	}
	c.forgets()
	if wrote < 0 {
		return errRowsLost
	}
	return c.refusal(ctx)
}

// refusal tells a claim that is over from a run that has ended. The statement that wrote
// nothing cannot: it sees the claims of when it started to wait for the row.
func (c *claim) refusal(ctx context.Context) error {
	if c.gone {
		return runstore.ErrNotFound
	}
	mine, err := c.isMine(ctx)
	switch {
	case err != nil:
		return err
	case mine:
		return runstore.ErrNotFound
	}
	return runstore.ErrFenced
}

// Checkpoint implements runstore.Claim. It replaces the record that this claim knows, and
// no other: a statement that was given up and comes late finds another one and changes
// nothing, nor does one that is made again. If the database has another record of this claim
// than it knows, it looks again: it has lost the newest, or a statement came late. A wake-up
// from before this claim is over with it: its holder has seen what it was about.
func (c *claim) Checkpoint(ctx context.Context, r *runstore.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.ID != c.id {
		return fmt.Errorf("a record of run %s through a claim of run %s", r.ID, c.id)
	}
	if err := c.d.ensureLease(ctx); err != nil {
		return err
	}
	r = c.d.clock.record(r)
	row, err := c.d.sealer().Record(r, c.epoch)
	if err != nil {
		return err
	}
	for range 3 {
		if c.row == nil {
			if err := c.know(ctx); err != nil {
				return err
			}
		}
		if err = c.replace(ctx, r, row); !errors.Is(err, errRowsLost) {
			break
		}
	}
	if err != nil {
		return err
	}
	c.holds(r, row, nil)
	return nil
}

// replace puts a row in the place of the one that this claim knows, or answers errRowsLost.
func (c *claim) replace(ctx context.Context, r *runstore.Record, row *sealedrow.Run) error {
	return c.supersede(ctx, `
		WITH mine AS (
			SELECT id, seal FROM quoin.runs WHERE id = $1 AND epoch = $2 AND owner = $3 AND NOT ended FOR NO KEY UPDATE
		), wrote AS (
			UPDATE quoin.runs r SET generation = $4, expires = $5, timer_due = $6, header = $7, image = $8, image_sum = $9, seal = $10,
				woken = CASE WHEN r.woken_epoch < $2 THEN NULL ELSE r.woken END
			FROM mine WHERE r.id = mine.id AND mine.seal = $11 RETURNING r.id
		), superseded AS (
			DELETE FROM quoin.journal WHERE run IN (SELECT id FROM wrote)
		)
		SELECT (SELECT count(*) FROM wrote) + (SELECT count(*) FROM mine WHERE seal = $10) - (SELECT count(*) FROM mine WHERE seal NOT IN ($10, $11))`,
		int64(r.Generation), r.Expires, due(r), row.Header, row.Image, row.ImageSum, row.Seal, c.row)
}

// PutCalls implements runstore.Claim.
func (c *claim) PutCalls(ctx context.Context, generation uint64, calls []runstore.Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var written []byte // by a statement that was made again, or by one that came late
	for range 3 {
		if err := c.know(ctx); err != nil {
			return err
		}
		if written != nil && bytes.Equal(c.newest.Seal, written) {
			return nil
		}
		if c.newest.Generation != generation {
			return c.refusal(ctx)
		}
		rows, size, err := c.d.sealer().Calls(c.newest.Seal, c.d.clock.calls(calls))
		if err == nil {
			err = c.newest.Takes(c.id, calls, size)
		}
		if err != nil || len(rows) == 0 {
			return err
		}
		err = c.appendRows(ctx, generation, rows, c.d.clock.keptUntil(calls))
		if err == nil {
			c.newest.Add(rows[len(rows)-1].Seal, int64(len(rows)), size)
			return nil
		}
		if errors.Is(err, errRowsLost) {
			return runstore.ErrCallsLost
		}
		if !isCode(err, uniqueViolation) {
			return err
		}
		written = rows[len(rows)-1].Seal
	}
	return sealedrow.Corrupt("the rows of the journal are not numbered one after the other")
}

// appendRows appends all rows to the journal. It fails with uniqueViolation if the journal
// has more of them than is known, and with errRowsLost if it does not have the newest. The
// run expires no earlier than keep, unless that is nil. The lock lets a claim that is being
// made wait, so that it sees these rows.
func (c *claim) appendRows(ctx context.Context, generation uint64, rows []sealedrow.Journal, keep *time.Time) error {
	var headers, bodies, seals [][]byte
	for _, row := range rows {
		headers, bodies, seals = append(headers, row.Header), append(bodies, row.Body), append(seals, row.Seal)
	}
	return c.write(ctx, `
		WITH mine AS (
			SELECT id, seal FROM quoin.runs WHERE id = $1 AND epoch = $2 AND owner = $3 AND generation = $4 FOR NO KEY UPDATE
		), whole AS (
			SELECT id FROM mine WHERE $9 = coalesce((SELECT seal FROM quoin.journal WHERE run = $1 AND n = $5), mine.seal)
		), wrote AS (
			INSERT INTO quoin.journal (run, n, header, body, seal)
			SELECT whole.id, $5 + row.n, row.header, row.body, row.seal
			FROM whole, unnest($6::bytea[], $7::bytea[], $8::bytea[]) WITH ORDINALITY AS row (header, body, seal, n)
			RETURNING n
		), kept AS (
			UPDATE quoin.runs r SET expires = $10 FROM whole WHERE r.id = whole.id AND r.expires < $10
		)
		SELECT count(*) - (SELECT count(*) FROM mine WHERE id NOT IN (SELECT id FROM whole)) FROM wrote`,
		int64(generation), c.newest.Rows, headers, bodies, seals, c.newest.Seal, keep)
}

// know makes sure that what is known of the record is how the database has it.
func (c *claim) know(ctx context.Context) error {
	if c.released {
		return runstore.ErrFenced
	}
	if c.gone {
		return runstore.ErrNotFound
	}
	if c.known {
		return nil
	}
	s, err := c.d.read(ctx, c.id)
	if errors.Is(err, runstore.ErrNotFound) {
		return runstore.ErrFenced // only the holder of a newer claim, or a sweep, deletes it
	}
	if err != nil {
		return err
	}
	if s.epoch != c.epoch || s.owner != c.d.id {
		return runstore.ErrFenced
	}
	if s.row.Ended {
		return runstore.ErrNotFound
	}
	r, err := c.d.sealer().DecodeRecord(c.id, &s.row, s.journal, false)
	if err != nil {
		return err
	}
	c.holds(r, &s.row, s.journal)
	return nil
}

// End implements runstore.Claim.
func (c *claim) End(ctx context.Context, e *runstore.Ended) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.ID != c.id {
		return fmt.Errorf("the result of run %s through a claim of run %s", e.ID, c.id)
	}
	if err := c.d.ensureLease(ctx); err != nil {
		return err
	}
	there := *e
	there.Expires = c.d.clock.there(e.Expires)
	row, err := c.d.sealer().Ended(&there, c.epoch)
	if err != nil {
		return err
	}
	c.forgets()
	return c.supersede(ctx, `
		WITH wrote AS (
			UPDATE quoin.runs SET ended = true, generation = 0, expires = $4, timer_due = NULL, woken = NULL, header = $5, image = $6, image_sum = $7, seal = $8
			WHERE id = $1 AND epoch = $2 AND owner = $3 AND NOT gone RETURNING id
		), superseded AS (
			DELETE FROM quoin.journal WHERE run IN (SELECT id FROM wrote)
		)
		SELECT count(*) FROM wrote`, there.Expires, row.Header, row.Image, row.ImageSum, row.Seal)
}

// Delete implements runstore.Claim. The run stays this claim's, and its id taken, until
// Release.
func (c *claim) Delete(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone && !c.released {
		return nil
	}
	c.forgets()
	err := c.supersede(ctx, `
		WITH gone AS (
			UPDATE quoin.runs SET gone = true, ended = true, generation = 0, expires = '-infinity', timer_due = NULL, woken = NULL,
				header = '', image = '', image_sum = '', seal = ''
			WHERE id = $1 AND epoch = $2 AND owner = $3 RETURNING id
		), superseded AS (
			DELETE FROM quoin.journal WHERE run IN (SELECT id FROM gone)
		)
		SELECT (CASE WHEN EXISTS (SELECT FROM gone) OR NOT EXISTS (SELECT FROM quoin.runs WHERE id = $1) THEN 1 ELSE 0 END)`)
	c.gone = c.gone || err == nil
	return err
}

// Release implements runstore.Claim. If the database cannot be told, it is told later. So it
// is if there was nothing to release: another claim of this host, given up before its answer,
// may have counted after this one.
func (c *claim) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return
	}
	c.released = true
	ctx, cancel := context.WithTimeout(context.Background(), c.d.times.release)
	defer cancel()
	// A wake-up from before this claim has been answered by it.
	var released int64
	release := func(ctx context.Context) error {
		tag, err := c.d.pool.Exec(ctx, `
			WITH gone AS (
				DELETE FROM quoin.runs WHERE id = $1 AND epoch = $2 AND owner = $3 AND gone
			)
			UPDATE quoin.runs SET owner = NULL, woken = CASE WHEN woken_epoch < $2 THEN NULL ELSE woken END
			WHERE id = $1 AND epoch = $2 AND owner = $3 AND NOT gone`, c.id, int64(c.epoch), c.d.id)
		released = tag.RowsAffected()
		return err
	}
	err := c.d.attempt(ctx, release)
	if err != nil {
		err = c.d.attempt(ctx, release)
	}
	c.d.claims.free(c.id, err != nil || released == 0 && !c.gone)
}
