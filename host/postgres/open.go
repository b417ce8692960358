package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"

	"github.com/quoinhq/quoin/host/runstore"
)

var (
	_ runstore.Store      = (*DB)(nil)
	_ runstore.Identified = (*DB)(nil)
)

// Open connects to the database of a URL or a connection string of libpq. The caller
// closes the DB after the host that uses it. The errors are ErrNotMigrated, ErrNewer,
// ErrOtherKey, and errors of the connection.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	if o.Key == nil {
		return nil, errors.New("database: a key is required")
	}
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	o.maxRun = cmp.Or(o.maxRun, maxRun)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.times = cmp.Or(o.times, defaultTimes)
	cfg, err := parse(url, o.times)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = cmp.Or(o.MaxConns, cfg.MaxConns)
	cfg.ConnConfig.Tracer = o.tracer
	if o.dial != nil {
		cfg.ConnConfig.DialFunc = o.dial
	}
	d := &DB{options: o, times: o.times, log: o.Logger, id: "host_" + rand.Text()}
	d.claims.held, d.claims.forgotten = make(map[string]uint64), make(map[string]struct{})
	d.health.looked = make(chan struct{})
	d.lease.turn = newTurn()
	d.hints.send = make(chan string, maxHints)
	d.lease.address.Store(&o.Address)
	d.ctx, d.close = context.WithCancel(context.Background())
	if d.pool, err = newPool(d.ctx, cfg); err != nil {
		return nil, err
	}
	one := cfg.Copy()
	one.MaxConns = 1
	if d.own, err = newPool(d.ctx, one); err != nil {
		d.pool.Close()
		return nil, err
	}
	d.hints.config = cfg.ConnConfig.Copy()
	if err := d.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database: %w", err), d.Close())
	}
	return d, nil
}

// check refuses a database that this host must not use.
func (d *DB) check(ctx context.Context) error {
	return d.retry(ctx, func(ctx context.Context) error {
		if err := d.checkVersion(ctx); err != nil {
			return err
		}
		return d.checkKey(ctx)
	})
}

// Close gives up the lease, and closes the connections. Runs that are still claimed are
// free for other hosts.
func (d *DB) Close() error {
	d.close()
	d.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), d.times.connect)
	defer cancel()
	err := d.endLease(ctx)
	d.pool.Close()
	d.own.Close()
	return err
}
