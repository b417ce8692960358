package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quoinhq/quoin/host/runstore"
)

// Codes of PostgreSQL that this package tells apart.
const (
	undefinedTable       = "42P01"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	readOnly             = "25006"
	cannotConnectNow     = "57P03"
	queryCanceled        = "57014"
	uniqueViolation      = "23505"
	diskFull             = "53100"
	// insufficientPrivilege is of a user who may not do that.
	insufficientPrivilege = "42501"
)

// poolSize is the setting of a URL or connection string for the size of the pool.
var poolSize = regexp.MustCompile(`\bpool_max_conns\s*=`)

func newPool(ctx context.Context, cfg *pgxpool.Config) (*pgxpool.Pool, error) {
	p, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return p, nil
}

// retry calls do, and calls it again after a failure that passes: the database restarts,
// fails over, or has closed the connection. What do does may have happened although it
// has failed, so it must be harmless twice.
func (d *DB) retry(ctx context.Context, do func(context.Context) error) error {
	end := time.Now().Add(d.times.retryFor)
	for pause := d.times.firstRetry; ; pause = min(2*pause, d.times.lastRetry) {
		bounded, cancel := context.WithTimeout(ctx, d.times.statement)
		err := d.attempt(bounded, do)
		silent := bounded.Err() != nil || timedOut(err)
		cancel()
		if err != nil && silent && ctx.Err() == nil {
			return unavailable(err)
		}
		if isCode(err, diskFull) {
			d.noteFull(err)
			return unavailable(err)
		}
		if err == nil || !passes(err) {
			return explained(err)
		}
		if ctx.Err() != nil || !time.Now().Add(pause).Before(end) {
			return unavailable(err)
		}
		select {
		case <-ctx.Done():
			return unavailable(err)
		case <-d.ctx.Done():
			return unavailable(err)
		case <-time.After(pause):
		}
	}
}

// unavailable marks a failure that has lasted for too long, but may be over later.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", runstore.ErrUnavailable, explained(err))
}

func (d *DB) attempt(ctx context.Context, do func(context.Context) error) error {
	if d.options.fault != nil {
		return d.options.fault(ctx, do)
	}
	return do(ctx)
}

// timedOut reports whether a time limit within an attempt was over: of a renewal of the lease,
// or the statement_timeout of the server.
func timedOut(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || isCode(err, queryCanceled)
}

// passes reports whether a failure may be over soon.
func passes(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return rolledBack(err) || connectionCode(pg.Code)
	}
	var network net.Error
	var connect *pgconn.ConnectError
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, pgx.ErrNoRows):
		return false
	case errors.As(err, &connect), errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return true
	}
	return pgconn.SafeToRetry(err) || errors.Is(err, pgconn.ErrConnClosed)
}

// rolledBack reports whether a failure says that the statement has changed nothing, and may
// pass when it is made again.
func rolledBack(err error) bool {
	return isCode(err, serializationFailure) || isCode(err, deadlockDetected) || isCode(err, readOnly)
}

// isCode reports whether a failure has a code of PostgreSQL.
func isCode(err error, code string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code
}

// connectionCode reports whether a code is about the connection, or about a server that
// ends or does not take connections yet.
func connectionCode(code string) bool {
	return strings.HasPrefix(code, "08") || code == "57P01" || code == "57P02" || code == cannotConnectNow || code == "53300"
}
