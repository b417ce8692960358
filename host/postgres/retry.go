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
func (c *conn) retry(ctx context.Context, do func(context.Context) error) error {
	end := time.Now().Add(c.times.retryFor)
	for pause := c.times.firstRetry; ; pause = min(2*pause, c.times.lastRetry) {
		bounded, cancel := context.WithTimeout(ctx, c.times.statement)
		err := c.attempt(bounded, do)
		silent := bounded.Err() != nil || timedOut(err)
		cancel()
		if err != nil && silent && ctx.Err() == nil {
			return unavailable(err)
		}
		if isCode(err, diskFull) {
			c.noteFull(err)
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
		case <-c.ctx.Done():
			return unavailable(err)
		case <-time.After(pause):
		}
	}
}

// unavailable marks a failure that has lasted for too long, but may be over later.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", runstore.ErrUnavailable, explained(err))
}

func (c *conn) attempt(ctx context.Context, do func(context.Context) error) error {
	if c.options.fault != nil {
		return c.options.fault(ctx, do)
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

// noteFull notes that a write found no room.
func (c *conn) noteFull(err error) {
	if c.full.CompareAndSwap(false, true) {
		c.log.Warn("the disk of the database is full: no run is suspended until there is room", "error", explained(err))
	}
}

// lookForRoom looks whether a disk that was full has room again: a table of its own is a
// page that no write has used.
func (c *conn) lookForRoom(ctx context.Context) {
	if !c.full.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Lease)
	defer cancel()
	_, err := c.pool.Exec(ctx, `CREATE TEMPORARY TABLE room ON COMMIT DROP AS SELECT 1`)
	if err == nil || isCode(err, insufficientPrivilege) { // else the next write finds out
		c.full.Store(false)
		c.log.Info("the disk of the database has room again")
	}
}
