package durable

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// ErrLocked says that another holder has the lock.
var ErrLocked = errors.New("the file is locked by another process")

// lockRetry is how often Lock tries a lock that is held.
const lockRetry = 2 * time.Millisecond

// FileLock is a lock on a file. Several processes, and several FileLocks of one
// process, exclude each other. It is for one goroutine at a time.
type FileLock struct{ f *flock.Flock }

// NewLock returns a lock on path, which is created with mode 0600 when it is locked
// first. It holds nothing yet.
func NewLock(path string) *FileLock { return &FileLock{flock.New(path, flock.SetPermissions(0o600))} }

// Lock waits for the lock until ctx ends, and then returns the error of ctx. Holders
// of a shared lock exclude only those who want it exclusively.
func (l *FileLock) Lock(ctx context.Context, shared bool) error {
	try := l.f.TryLockContext
	if shared {
		try = l.f.TryRLockContext
	}
	_, err := try(ctx, lockRetry)
	return err
}

// TryLock takes the lock exclusively, or fails with [ErrLocked] at once.
func (l *FileLock) TryLock() error {
	ok, err := l.f.TryLock()
	if err == nil && !ok {
		err = ErrLocked
	}
	return err
}

// Holds reports whether the lock is held and path still leads to the locked file: its
// last holder may have removed it between open and lock.
func (l *FileLock) Holds(path string) bool {
	if !l.f.Locked() && !l.f.RLocked() {
		return false
	}
	held, err := l.f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(held, now)
}

// Unlock gives the lock back and keeps the file open for the next Lock.
func (l *FileLock) Unlock() error { return l.f.Unlock() }

// Close gives the lock back, if it is held, and closes the file.
func (l *FileLock) Close() error { return l.f.Close() }
