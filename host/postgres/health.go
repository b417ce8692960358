package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quoinhq/quoin/host/runstore"
)

var _ runstore.Monitored = (*DB)(nil)

// slowShare is the part of a lease for which a renewal may take until the database is slow.
const slowShare = 10

// observe makes one renewal and notes how it went. If its caller has gone, it says nothing of
// the database.
func (h *health) observe(ctx context.Context, renew func() error) error {
	start := time.Now()
	h.mu.Lock()
	h.since = start
	h.mu.Unlock()
	err := renew()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since = (time.Time{}); err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return err
	}
	h.took, h.err = time.Since(start), err
	if h.fails++; err == nil {
		h.fails = 0
	}
	select {
	case <-h.looked:
	default:
		close(h.looked)
	}
	return err
}

// Health implements runstore.Monitored by the renewals of the lease. The first call starts
// the lease, so that there are renewals.
func (d *DB) Health(ctx context.Context) runstore.Health {
	h := &d.health
	if d.ctx.Err() != nil {
		return runstore.Health{State: runstore.HealthGone}
	}
	h.look.Do(func() { d.keepLeaseOnce(true) })
	ctx, cancel := context.WithTimeout(ctx, d.times.firstLook)
	defer cancel()
	select {
	case <-h.looked:
	case <-ctx.Done():
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	out := runstore.Health{RoundTrip: h.took, Takeovers: h.takeovers.Load(), DueLag: time.Duration(h.lag.Load())}
	if !h.since.IsZero() {
		out.RoundTrip = max(out.RoundTrip, time.Since(h.since))
	}
	out.State = d.stateLocked(out.RoundTrip)
	return out
}

// stateLocked classifies the newest renewals. One that fails may have met a connection that
// was closed, and a lease that is over without a renewal that hangs is one of a host that
// stood still: neither says that the database is gone. The caller holds the mutex of the
// health.
func (d *DB) stateLocked(roundTrip time.Duration) runstore.HealthState {
	h, slow := &d.health, d.options.Lease/slowShare
	hangs := !h.since.IsZero() && time.Since(h.since) >= slow
	var pg *pgconn.PgError
	switch {
	case errors.As(h.err, &pg) && !connectionCode(pg.Code) && pg.Code != queryCanceled:
		return runstore.HealthReadOnly
	case h.fails > 1, d.Lapsed() && hangs:
		return runstore.HealthGone
	case h.full.Load():
		return runstore.HealthReadOnly
	case h.fails > 0, d.Lapsed(), roundTrip >= slow:
		return runstore.HealthSlow
	}
	return runstore.HealthOK
}

// noteFull notes that a write found no room.
func (d *DB) noteFull(err error) {
	if d.health.full.CompareAndSwap(false, true) {
		d.log.Warn("the disk of the database is full: no run is suspended until there is room", "error", explained(err))
	}
}

// lookForRoom looks whether a disk that was full has room again: a table of its own is a
// page that no write has used.
func (d *DB) lookForRoom(ctx context.Context) {
	if !d.health.full.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d.options.Lease)
	defer cancel()
	_, err := d.pool.Exec(ctx, `CREATE TEMPORARY TABLE room ON COMMIT DROP AS SELECT 1`)
	if err == nil || isCode(err, insufficientPrivilege) { // else the next write finds out
		d.health.full.Store(false)
		d.log.Info("the disk of the database has room again")
	}
}
