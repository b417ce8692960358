package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// lease is the right of this host to own runs.
type lease struct {
	*conn
	claims *claims
	health health
	clock  databaseClock

	turn    turn        // of what renews the lease
	started atomic.Bool // it was renewed once
	keep    sync.Once   // starts the loop that renews it
	address atomic.Pointer[string]
	until   atomic.Pointer[time.Time] // by the clocks of this process: see Lapsed
	newest  atomic.Pointer[time.Time] // when it ends, as the database has it: see leaseAfter
	gaps    atomic.Uint64             // how often the lease was over before it was renewed
}

// turn is a mutex for work that takes long: who waits for it may give up.
type turn chan struct{}

// take waits for the turn until ctx ends.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t turn) give() { <-t }

// ensureLease starts the lease with the first claim: who only reads needs no lease. It renews
// the lease if the clocks have to be compared again. Several that want it try in turns, each
// until its own context ends.
func (l *lease) ensureLease(ctx context.Context) error {
	ensured := func() bool { return l.started.Load() && !l.clock.doubtful() }
	if ensured() {
		return nil
	}
	err := l.retry(ctx, func(ctx context.Context) error {
		if err := l.turn.take(ctx); err != nil {
			return err
		}
		defer l.turn.give()
		if ensured() {
			return nil
		}
		return l.renewInTurn(ctx)
	})
	if err != nil {
		return fmt.Errorf("lease of this host: %w", err)
	}
	l.keepLeaseOnce(false)
	return nil
}

// keepLeaseOnce starts the loop that renews the lease, with a renewal at once if now is set.
func (l *lease) keepLeaseOnce(now bool) {
	l.keep.Do(func() { l.done.Go(func() { l.keepLease(now) }) })
}

// renewInTurn renews the lease. It is the caller's turn.
func (l *lease) renewInTurn(ctx context.Context) error {
	if l.ctx.Err() != nil {
		return errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, l.options.Lease) // one that hangs keeps no other
	defer cancel()
	now := time.Now()
	until := now.Add(l.options.Lease) // before the database counts: this clock is never late
	var there, ends time.Time
	err := l.health.observe(ctx, func() error {
		return l.own.QueryRow(ctx, `
			INSERT INTO quoin.hosts (id, address, lease_until) VALUES ($1, $2, clock_timestamp() + $3)
			ON CONFLICT (id) DO UPDATE SET address = excluded.address, lease_until = excluded.lease_until
			RETURNING clock_timestamp(), lease_until`,
			l.id, *l.address.Load(), l.options.Lease).Scan(&there, &ends)
	})
	if err == nil && (!l.started.Load() || l.Lapsed()) { // see StartMove
		err = l.checkMoving(ctx)
	}
	if err == nil {
		l.clock.compare(now, time.Now(), there)
		if l.Lapsed() {
			l.gaps.Add(1)
		}
		l.until.Store(&until)
		l.newest.Store(&ends)
		l.started.Store(true)
	}
	return err
}

func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.options.Lease)
	defer cancel()
	if err := l.turn.take(ctx); err != nil {
		return err
	}
	defer l.turn.give()
	return l.renewInTurn(ctx)
}

// leaseAfter returns the newest lease of this host, and renews it if that is last: a lease
// is known by its end in the database. What is sent under one and asks for it does not
// count once there is another. With an error it returns last.
func (l *lease) leaseAfter(ctx context.Context, last time.Time) (time.Time, error) {
	if newest := *l.newest.Load(); !newest.Equal(last) {
		return newest, nil
	}
	if err := l.turn.take(ctx); err != nil {
		return last, err
	}
	defer l.turn.give()
	if l.newest.Load().Equal(last) {
		if err := l.renewInTurn(ctx); err != nil {
			return last, err
		}
	}
	return *l.newest.Load(), nil
}

// keepLease renews the lease until Close, at once if now is set, and frees what this host owns unawares.
func (l *lease) keepLease(now bool) {
	lost := false
	every, pause := l.options.Lease/3, l.times.retryRenewal
	next, renewed := time.NewTimer(every), 0
	defer next.Stop()
	if now {
		next.Reset(0)
	}
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-next.C:
		}
		start := time.Now()
		err := l.renew(l.ctx)
		switch {
		case l.ctx.Err() != nil:
			return
		case err != nil && !lost:
			l.log.Warn("the lease of this host was not renewed", "host", l.id, "error", err)
		case err == nil && lost:
			l.log.Info("the lease of this host was renewed again", "host", l.id)
		}
		if lost = err != nil; lost {
			next.Reset(min(every, pause))
			pause = min(2*pause, every)
			continue
		}
		pause = l.times.retryRenewal
		next.Reset(every - time.Since(start))
		renewed++
		l.lookForRoom(l.ctx)
		l.claims.releaseForgotten(l.ctx, l.gaps.Load(), renewed%lookEvery == 0)
	}
}

// endLease lets others have the runs of this host at once.
func (l *lease) endLease(ctx context.Context) error {
	if err := l.turn.take(ctx); err != nil {
		return fmt.Errorf("lease of this host: %w", err)
	}
	defer l.turn.give()
	if !l.started.Load() {
		return nil
	}
	l.until.Store(&time.Time{})
	var err error
	for range 2 { // the connection may be one that the database has closed
		if _, err = l.own.Exec(ctx, `DELETE FROM quoin.hosts WHERE id = $1`, l.id); err == nil {
			return nil
		}
	}
	return fmt.Errorf("lease of this host: %w", err)
}

// Lapsed reports whether the lease of this host is over by the clock of this process:
// others may have its runs, so it must start no call of a stored run until it has
// renewed the lease.
func (l *lease) Lapsed() bool {
	until := l.until.Load()
	if until == nil {
		return false
	}
	// The monotonic clock of Linux stands still while the machine is suspended, the other
	// one can be set: the first that says so counts.
	now := time.Now()
	return !now.Before(*until) || !now.Round(0).Before(until.Round(0))
}

// Advertise tells other hosts where they reach this one, and starts the lease.
func (l *lease) Advertise(ctx context.Context, address string) error {
	l.address.Store(&address)
	if !l.started.Load() {
		l.keepLeaseOnce(true)
		return nil
	}
	return l.renew(ctx)
}
