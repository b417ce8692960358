package postgres

import (
	"cmp"
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
	"github.com/quoinhq/quoin/host/runstore"
)

var (
	_ runstore.Store      = (*DB)(nil)
	_ runstore.Identified = (*DB)(nil)
	_ runstore.Scheduler  = (*DB)(nil)
	_ runstore.Shared     = (*DB)(nil)
)

// DB is what a host has of the database. It is safe for concurrent use.
type DB struct {
	*conn
	*lease
	*runs
	*effects
	hints *hints
}

// Open connects to the database of a URL or a connection string of libpq. The caller
// closes the DB after the host that uses it. The errors are ErrNotMigrated, ErrNewer,
// ErrOtherKey, and errors of the connection.
func Open(ctx context.Context, url string, o Options) (*DB, error) {
	if o.Key == nil {
		return nil, errors.New("database: a key is required")
	}
	o.Lease = cmp.Or(o.Lease, DefaultLease)
	o.maxRun = cmp.Or(o.maxRun, sealedrow.MaxRun)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.times, o.eventTimes = cmp.Or(o.times, defaultTimes), cmp.Or(o.eventTimes, defaultEventTimes)
	cfg, err := parse(url, o.times)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = cmp.Or(o.MaxConns, cfg.MaxConns)
	if o.Moving {
		cfg.ConnConfig.RuntimeParams["application_name"] = applicationName + " state move"
	}
	cfg.ConnConfig.Tracer = o.tracer
	if o.dial != nil {
		cfg.ConnConfig.DialFunc = o.dial
	}
	d := newDB(o)
	if d.pool, err = newPool(d.ctx, cfg); err != nil {
		return nil, err
	}
	one := cfg.Copy()
	one.MaxConns = 1
	if d.own, err = newPool(d.ctx, one); err != nil {
		d.pool.Close()
		return nil, err
	}
	if err := d.check(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database: %w", err), d.Close())
	}
	return d, nil
}

// newDB returns a DB without its connections.
func newDB(o Options) *DB {
	c := &conn{options: o, times: o.times, log: o.Logger, id: "host_" + rand.Text()}
	c.ctx, c.close = context.WithCancel(context.Background())
	l := &lease{conn: c, health: health{looked: make(chan struct{})}, turn: make(turn, 1), claims: &claims{conn: c, held: map[string]uint64{}, forgotten: map[string]struct{}{}}}
	l.address.Store(&o.Address)
	h := &hints{conn: c, send: make(chan string, maxHints)}
	return &DB{conn: c, lease: l, runs: &runs{lease: l, hints: h}, effects: &effects{l}, hints: h}
}

// check refuses a database that this host must not use.
func (d *DB) check(ctx context.Context) error {
	return d.retry(ctx, func(ctx context.Context) error {
		if err := d.checkVersion(ctx); err != nil {
			return err
		}
		if err := d.checkKey(ctx); err != nil {
			return err
		}
		return d.checkMoving(ctx)
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

// Identity implements runstore.Identified.
func (d *DB) Identity() string { return d.identity }

// Host is the id under which this DB owns runs. A host that starts again has another.
func (d *DB) Host() string { return d.id }

// Sealer returns the sealer for one purpose: see runstore.Key.
func (d *DB) Sealer(purpose string) *runstore.Sealer { return d.options.Key.Sealer(purpose) }

// Cipher returns the cipher for one purpose: see runstore.Key.
func (d *DB) Cipher(purpose string) (cipher.AEAD, error) { return d.options.Key.Cipher(purpose) }
