package postgres

import (
	"cmp"
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quoinhq/quoin/host/runstore"
)

// The defaults of Options.
const (
	DefaultLease    = 5 * time.Second
	DefaultMaxConns = 8
)

// Options say how a host uses a database.
type Options struct {
	// Key seals what is stored. It is required, and the same on all hosts.
	Key *runstore.Key
	// Address is where other hosts reach this one; empty if they cannot.
	Address string
	// Lease is how long the runs of this host stay its own after it was heard of last.
	// 0 means DefaultLease.
	Lease time.Duration
	// MaxConns bounds the connections for statements; two more are for the lease and for
	// hints. 0 means pool_max_conns of the URL, else DefaultMaxConns.
	MaxConns int32
	Logger   *slog.Logger // nil: slog.Default()

	// These are for tests.
	times      times // zero means defaultTimes
	tracer     pgx.QueryTracer
	dial       pgconn.DialFunc
	fault      func(ctx context.Context, do func(context.Context) error) error // makes one attempt
	maxRun     int64                                                           // 0 means the constant
	maxEnded   int                                                             // 0 means the constant
	maxItems   int                                                             // 0 means the constant
	sweepRows  int                                                             // 0 means the constant
	sweepBytes int64                                                           // 0 means the constant
}

var errClosed = errors.New("the database was closed")

// DB is what a host has of the database. It is safe for concurrent use.
type DB struct {
	options Options
	times   times
	log     *slog.Logger
	id      string // of this host: of this DB alone, and never the same twice
	// identity is that of the database, see Identity.
	identity string
	pool     *pgxpool.Pool // for statements of runs
	own      *pgxpool.Pool // one connection, for the lease and hints

	lease  lease
	health health
	hints  hints
	claims claims
	known  knownRuns
	clock  databaseClock

	ctx   context.Context // ends with Close
	close context.CancelFunc
	done  sync.WaitGroup
}

var (
	_ runstore.Store      = (*DB)(nil)
	_ runstore.Identified = (*DB)(nil)
)

// Open connects to the database of a URL or a connection string of libpq. The caller
// closes the DB after the host that uses it. The errors are ErrNotMigrated, ErrNewer,
// ErrOtherKey, and those of the connection.
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

// parse reads a URL. Errors have no password in them.
func parse(url string, t times) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = t.connect
	}
	given := cfg.ConnConfig.RuntimeParams
	for name, value := range map[string]string{
		"application_name":                    "quoin",
		"statement_timeout":                   fmt.Sprint(t.statement.Milliseconds()),
		"idle_in_transaction_session_timeout": fmt.Sprint(t.statement.Milliseconds()),
	} {
		if _, set := given[name]; !set {
			given[name] = value
		}
	}
	if !poolSize.MatchString(url) {
		cfg.MaxConns = DefaultMaxConns
	}
	return cfg, nil
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
