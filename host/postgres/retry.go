package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/quoinhq/quoin/host/runstore"
)

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
