package postgres

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quoinhq/quoin/host/runstore"
)

var _ runstore.Monitored = (*lease)(nil)

// slowShare is the part of a lease for which a renewal may take until the database is slow.
const slowShare = 10

// health is what the renewals of the lease tell of the database.
type health struct {
	look      sync.Once
	looked    chan struct{} // closed after the first renewal
	takeovers atomic.Uint64
	lag       atomic.Int64 // in nanoseconds: see runstore.Health

	mu    sync.Mutex
	since time.Time // of the renewal that is being made; zero without one
	took  time.Duration
	err   error
	fails int // renewals that have failed one after the other
}

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
func (l *lease) Health(ctx context.Context) runstore.Health {
	h := &l.health
	if l.ctx.Err() != nil {
		return runstore.Health{State: runstore.HealthGone}
	}
	h.look.Do(func() { l.keepLeaseOnce(true) })
	ctx, cancel := context.WithTimeout(ctx, l.times.firstLook)
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
	out.State = l.stateLocked(out.RoundTrip)
	return out
}

// stateLocked classifies the newest renewals. One that fails may have met a connection that
// was closed, and a lease that is over without a renewal that hangs is one of a host that
// stood still: neither says that the database is gone. The caller holds the mutex of the
// health.
func (l *lease) stateLocked(roundTrip time.Duration) runstore.HealthState {
	h, slow := &l.health, l.options.Lease/slowShare
	hangs := !h.since.IsZero() && time.Since(h.since) >= slow
	var pg *pgconn.PgError
	switch {
	case errors.As(h.err, &pg) && !connectionCode(pg.Code) && pg.Code != queryCanceled:
		return runstore.HealthReadOnly
	case h.fails > 1, l.Lapsed() && hangs:
		return runstore.HealthGone
	case l.full.Load():
		return runstore.HealthReadOnly
	case h.fails > 0, l.Lapsed(), roundTrip >= slow:
		return runstore.HealthSlow
	}
	return runstore.HealthOK
}
