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

// documentLock is a lock in the hands of this process. No other has the same holder.
type documentLock struct{ name, holder string }

// stillHeld is the part of a statement that finds the locks that its writer must have, of
// what heldLocks returns as $2 and $3. Who takes one over waits until the writer is done.
const stillHeld = `
	held AS (
		SELECT FROM quoin.document_locks WHERE purpose = $1 AND name = ANY($2) AND holder = ANY($3) FOR SHARE
	), mine AS (
		SELECT (SELECT count(*) FROM held) = cardinality($3::text[]) AS locks
	)`

// heldLocks returns the names and the holders of the locks that ctx writes under.
func (s *documentStore) heldLocks(ctx context.Context) (names, holders []string) {
	names, holders = []string{}, []string{}
	for _, l := range documents.Locks[documentLock](ctx, s.lockKey()) {
		names, holders = append(names, l.name), append(holders, l.holder)
	}
	return names, holders
}

// lockKey tells the locks of this store from others.
func (s *documentStore) lockKey() any { return [2]string{s.db.identity, s.purpose} }

// Lock implements documents.Store.
func (s *documentStore) Lock(ctx context.Context, name string) (held context.Context, unlock func(), err error) {
	if err := documents.CheckName(name); err != nil {
		return nil, nil, err
	}
	l := documentLock{name, rand.Text()}
	for pause := s.db.times.firstLockPause; ; pause = min(2*pause, s.db.times.maxLockPause) {
		taken, err := s.tryLock(ctx, l)
		if taken {
			return documents.WithLock(ctx, s.lockKey(), l), s.keepLock(l), nil
		}
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			s.unlock(l) // it may have been taken, and its answer lost
			return nil, nil, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-s.db.ctx.Done():
			return nil, nil, errClosed
		case <-time.After(pause):
		}
	}
}

// tryLock takes a lock that is free or over.
func (s *documentStore) tryLock(ctx context.Context, l documentLock) (taken bool, err error) {
	return s.changeLock(ctx, l, `
		INSERT INTO quoin.document_locks AS l (purpose, name, holder, until) VALUES ($1, $2, $3, clock_timestamp() + $4)
		ON CONFLICT (purpose, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE l.holder = excluded.holder OR l.until < clock_timestamp()
		RETURNING holder`)
}

// renewLock renews a lock, unless another holder has had it since.
func (s *documentStore) renewLock(ctx context.Context, l documentLock) (held bool, err error) {
	return s.changeLock(ctx, l, `
		UPDATE quoin.document_locks SET until = clock_timestamp() + $4 WHERE purpose = $1 AND name = $2 AND holder = $3 RETURNING holder`)
}

// changeLock makes a statement that returns the holder if the lock is then its own.
func (s *documentStore) changeLock(ctx context.Context, l documentLock, sql string) (held bool, err error) {
	err = s.do(ctx, func(ctx context.Context) error {
		var holder string
		err := s.db.pool.QueryRow(ctx, sql, s.purpose, l.name, l.holder, s.db.times.lockLease).Scan(&holder)
		held = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return held && err == nil, err
}

// keepLock renews a lock until it is given back or lost. One that is lost is not taken
// again: what its holder has read may have changed.
func (s *documentStore) keepLock(l documentLock) (unlock func()) {
	ctx, cancel := context.WithCancel(s.db.ctx)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		every := time.NewTicker(s.db.times.lockLease / 3)
		defer every.Stop()
		for held := true; held; {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			held = s.renewed(ctx, l)
		}
	}()
	return sync.OnceFunc(func() {
		cancel()
		<-renewed
		s.unlock(l)
	})
}

// renewed renews a lock, and reports whether it may still be held.
func (s *documentStore) renewed(ctx context.Context, l documentLock) bool {
	switch held, err := s.renewLock(ctx, l); {
	case ctx.Err() != nil:
	case err != nil:
		s.db.log.Warn("a lock was not renewed", "documents", s.purpose, "lock", l.name, "error", err)
	case !held:
		s.db.log.Warn("a lock was lost: its holder writes nothing more", "documents", s.purpose, "lock", l.name)
		return false
	}
	return true
}

// unlock gives a lock back. One that cannot be given back ends with its lease.
func (s *documentStore) unlock(l documentLock) {
	ctx, cancel := context.WithTimeout(context.Background(), s.db.times.release)
	defer cancel()
	if _, err := s.db.pool.Exec(ctx, `DELETE FROM quoin.document_locks WHERE purpose = $1 AND name = $2 AND holder = $3`, s.purpose, l.name, l.holder); err != nil {
		s.db.log.Debug("a lock ends with its lease", "documents", s.purpose, "lock", l.name, "error", err)
	}
}
