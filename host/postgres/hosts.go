package postgres

import (
	"context"
	"fmt"
	"time"
)

// ensureLease starts the lease with the first claim: who only reads needs no lease. It renews
// the lease if the clocks have to be compared again. Several that want it try in turns, each
// until its own context ends.
func (d *DB) ensureLease(ctx context.Context) error {
	ensured := func() bool { return d.lease.started.Load() && !d.clock.doubtful() }
	if ensured() {
		return nil
	}
	err := d.retry(ctx, func(ctx context.Context) error {
		if err := d.lease.turn.take(ctx); err != nil {
			return err
		}
		defer d.lease.turn.give()
		if ensured() {
			return nil
		}
		return d.renewInTurn(ctx)
	})
	if err != nil {
		return fmt.Errorf("lease of this host: %w", err)
	}
	d.keepLeaseOnce(false)
	return nil
}

// keepLeaseOnce starts the loop that renews the lease, with a renewal at once if now is set.
func (d *DB) keepLeaseOnce(now bool) {
	d.lease.keep.Do(func() { d.done.Go(func() { d.keepLease(now) }) })
}

// renewInTurn renews the lease. It is the caller's turn.
func (d *DB) renewInTurn(ctx context.Context) error {
	if d.ctx.Err() != nil {
		return errClosed
	}
	ctx, cancel := context.WithTimeout(ctx, d.options.Lease) // one that hangs keeps no other
	defer cancel()
	now := time.Now()
	until := now.Add(d.options.Lease) // before the database counts: this clock is never late
	var there, ends time.Time
	err := d.health.observe(ctx, func() error {
		return d.own.QueryRow(ctx, `
			INSERT INTO quoin.hosts (id, address, lease_until) VALUES ($1, $2, clock_timestamp() + $3)
			ON CONFLICT (id) DO UPDATE SET address = excluded.address, lease_until = excluded.lease_until
			RETURNING clock_timestamp(), lease_until`,
			d.id, *d.lease.address.Load(), d.options.Lease).Scan(&there, &ends)
	})
	if err == nil {
		d.clock.compare(now, time.Now(), there)
		if d.Lapsed() {
			d.lease.gaps.Add(1)
		}
		d.lease.until.Store(&until)
		d.lease.newest.Store(&ends)
		d.lease.started.Store(true)
	}
	return err
}

func (d *DB) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, d.options.Lease)
	defer cancel()
	if err := d.lease.turn.take(ctx); err != nil {
		return err
	}
	defer d.lease.turn.give()
	return d.renewInTurn(ctx)
}

// leaseAfter returns the newest lease of this host, and renews it if that is last: a lease
// is known by its end in the database. What is sent under one and asks for it does not
// count once there is another. With an error it returns last.
func (d *DB) leaseAfter(ctx context.Context, last time.Time) (time.Time, error) {
	if newest := *d.lease.newest.Load(); !newest.Equal(last) {
		return newest, nil
	}
	if err := d.lease.turn.take(ctx); err != nil {
		return last, err
	}
	defer d.lease.turn.give()
	if d.lease.newest.Load().Equal(last) {
		if err := d.renewInTurn(ctx); err != nil {
			return last, err
		}
	}
	return *d.lease.newest.Load(), nil
}

// keepLease renews the lease until Close, at once if now is set, and frees what this host owns unawares.
func (d *DB) keepLease(now bool) {
	lost := false
	every, pause := d.options.Lease/3, d.times.retryRenewal
	next, renewed := time.NewTimer(every), 0
	defer next.Stop()
	if now {
		next.Reset(0)
	}
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-next.C:
		}
		start := time.Now()
		err := d.renew(d.ctx)
		switch {
		case d.ctx.Err() != nil:
			return
		case err != nil && !lost:
			d.log.Warn("the lease of this host was not renewed", "host", d.id, "error", err)
		case err == nil && lost:
			d.log.Info("the lease of this host was renewed again", "host", d.id)
		}
		if lost = err != nil; lost {
			next.Reset(min(every, pause))
			pause = min(2*pause, every)
			continue
		}
		pause = d.times.retryRenewal
		next.Reset(every - time.Since(start))
		renewed++
		d.lookForRoom(d.ctx)
		d.releaseForgotten(d.ctx, renewed%lookEvery == 0)
	}
}

// endLease lets others have the runs of this host at once.
func (d *DB) endLease(ctx context.Context) error {
	if err := d.lease.turn.take(ctx); err != nil {
		return fmt.Errorf("lease of this host: %w", err)
	}
	defer d.lease.turn.give()
	if !d.lease.started.Load() {
		return nil
	}
	d.lease.until.Store(&time.Time{})
	var err error
	for range 2 { // the connection may be one that the database has closed
		if _, err = d.own.Exec(ctx, `DELETE FROM quoin.hosts WHERE id = $1`, d.id); err == nil {
			return nil
		}
	}
	return fmt.Errorf("lease of this host: %w", err)
}

// Lapsed reports whether the lease of this host is over by the clock of this process:
// others may have its runs, so it must start no call of a stored run until it has
// renewed the lease.
func (d *DB) Lapsed() bool {
	until := d.lease.until.Load()
	if until == nil {
		return false
	}
	// The monotonic clock of Linux stands still while the machine is suspended, the other
	// one can be set: the first that says so counts.
	now := time.Now()
	return !now.Before(*until) || !now.Round(0).Before(until.Round(0))
}

// Advertise tells other hosts where they reach this one, and starts the lease.
func (d *DB) Advertise(ctx context.Context, address string) error {
	d.lease.address.Store(&address)
	if !d.lease.started.Load() {
		d.keepLeaseOnce(true)
		return nil
	}
	return d.renew(ctx)
}
