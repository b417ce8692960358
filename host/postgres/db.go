package postgres

import (
	"context"
	"crypto/cipher"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
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
	// identity is the identity of the database, see Identity.
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

// Identity implements runstore.Identified.
func (d *DB) Identity() string { return d.identity }

// Host is the id under which this DB owns runs. A host that starts again has another.
func (d *DB) Host() string { return d.id }

// Sealer returns the sealer for one purpose: see runstore.Key.
func (d *DB) Sealer(purpose string) *runstore.Sealer { return d.options.Key.Sealer(purpose) }

// Cipher returns the cipher for one purpose: see runstore.Key.
func (d *DB) Cipher(purpose string) (cipher.AEAD, error) { return d.options.Key.Cipher(purpose) }

// lease is the right of this host to own runs.
type lease struct {
	turn    turn        // of what renews the lease
	started atomic.Bool // it was renewed once
	keep    sync.Once   // starts the loop that renews it
	address atomic.Pointer[string]
	until   atomic.Pointer[time.Time] // by the clocks of this process: see Lapsed
	newest  atomic.Pointer[time.Time] // when it ends, as the database has it: see leaseAfter
	gaps    atomic.Uint64             // how often the lease was over before it was renewed
	mended  atomic.Uint64             // gaps after which the reservations were put back
}

// turn is a mutex for work that takes long: who waits for it may give up.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

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

// knownRuns is how many suspended runs the database has, as of a moment ago. To count them
// for each new run would make new runs slower the more there are.
type knownRuns struct {
	mu      sync.Mutex
	counted bool // once at least
	count   int
	until   time.Time // when it is counted again
}

// health is what the renewals of the lease tell of the database.
type health struct {
	look      sync.Once
	looked    chan struct{} // closed after the first renewal
	takeovers atomic.Uint64
	lag       atomic.Int64 // in nanoseconds: see runstore.Health
	// full says that the disk of the database had no room for a write. The renewals, which
	// write a row in place, do not notice.
	full atomic.Bool

	mu    sync.Mutex
	since time.Time // of the renewal that is being made; zero without one
	took  time.Duration
	err   error
	fails int // renewals that have failed one after the other
}

// hints are notifications. They are sent by one writer, outside of any transaction that
// writes a run: NOTIFY takes a lock of the whole database when it commits.
type hints struct {
	config   *pgx.ConnConfig
	send     chan string
	sending  sync.Once
	watching sync.Once

	mu       sync.Mutex
	watchers map[chan string]string // what each looks for
}

// maxHints bounds the hints that wait to be sent, or to be taken by one watcher. Others
// are dropped: the truth is looked up once a second.
const maxHints = 1024
