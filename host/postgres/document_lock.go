package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quoinhq/quoin/internal/documents"
)

const (
	// lockLease is how long the lock of a host that has died stays. A connection would keep
	// the lock of a host that is only stopped, so locks are leases.
	lockLease = 10 * time.Second
	// firstLockPause is the pause before a lock that is held is tried again; it doubles up to
	// maxLockPause.
	firstLockPause = 5 * time.Millisecond
	maxLockPause   = 100 * time.Millisecond
)

// Lock implements documents.Store.
func (s *documentStore) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := documents.CheckName(name); err != nil {
		return nil, err
	}
	holder := rand.Text()
	for pause := firstLockPause; ; pause = min(2*pause, maxLockPause) {
		held, err := s.tryLock(ctx, name, holder)
		if held {
			return s.keepLock(name, holder), nil
		}
		if ctx.Err() != nil {
			s.unlock(name, holder) // it may have come at the last moment
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.db.ctx.Done():
			return nil, errClosed
		case <-time.After(pause):
		}
	}
}

// tryLock takes a lock that is free or over, or renews the holder's own.
func (s *documentStore) tryLock(ctx context.Context, name, holder string) (held bool, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		var now string
		err := s.db.pool.QueryRow(ctx, `
			INSERT INTO quoin.document_locks AS l (purpose, name, holder, until) VALUES ($1, $2, $3, clock_timestamp() + $4)
			ON CONFLICT (purpose, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
				WHERE l.holder = excluded.holder OR l.until < clock_timestamp()
			RETURNING holder`, s.purpose, name, holder, lockLease).Scan(&now)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		held = err == nil
		return err
	})
	return held, err
}

// keepLock renews a lock until it is given back.
func (s *documentStore) keepLock(name, holder string) (unlock func()) {
	ctx, cancel := context.WithCancel(s.db.ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		every := time.NewTicker(lockLease / 3)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			if held, err := s.tryLock(ctx, name, holder); !held && ctx.Err() == nil {
				s.db.log.Warn("a lock was lost", "documents", s.purpose, "lock", name, "error", err)
			}
		}
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-renewed
		s.unlock(name, holder)
	})
}

// unlock gives a lock back. One that cannot be given back ends with its lease.
func (s *documentStore) unlock(name, holder string) {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if _, err := s.db.pool.Exec(ctx, `DELETE FROM quoin.document_locks WHERE purpose = $1 AND name = $2 AND holder = $3`, s.purpose, name, holder); err != nil {
		s.db.log.Debug("a lock ends with its lease", "documents", s.purpose, "lock", name, "error", err)
	}
}
