package postgres

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quoinhq/quoin/host/internal/sealedrow"
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
	Moving   bool         // open the database also while its state is being moved, to complete that

	// These are for tests.
	times      times      // zero means defaultTimes
	eventTimes eventTimes // zero means defaultEventTimes
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

// conn is what all parts of a DB have of the database.
type conn struct {
	options  Options
	times    times
	log      *slog.Logger
	id       string        // of this host: of this DB alone, and never the same twice
	identity string        // of the database: see DB.Identity
	pool     *pgxpool.Pool // for statements of runs
	own      *pgxpool.Pool // one connection, for the lease and hints
	// full says that the disk of the database had no room for a write. The renewals of the lease,
	// which write a row in place, do not notice.
	full atomic.Bool

	ctx   context.Context // ends with Close
	close context.CancelFunc
	done  sync.WaitGroup
}

// sealer seals the rows of runs and effects.
func (c *conn) sealer() sealedrow.Sealer { return sealedrow.Sealer{Key: c.options.Key} }
