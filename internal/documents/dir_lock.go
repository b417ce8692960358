package documents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
)

// lockExt is the extension of files that are locked.
const lockExt = ".lock"

// lockedFile is a lock that a process holds.
type lockedFile struct {
	lock *durable.FileLock
	path string
}

// Lock implements Store. The lock ends with the process, and with its file.
func (d *Dir) Lock(ctx context.Context, name string) (held context.Context, unlock func(), err error) {
	if err := CheckName(name); err != nil {
		return nil, nil, err
	}
	f := lockedFile{path: d.Location(strings.TrimSuffix(name, lockExt) + lockExt)}
	f.lock = durable.NewLock(f.path)
	for {
		if err := f.lock.Lock(ctx, false); err != nil {
			return nil, nil, errors.Join(err, f.lock.Close())
		}
		if f.lock.Holds(f.path) {
			break
		}
		if err := f.lock.Close(); err != nil { // the file was removed before it was locked
			return nil, nil, err
		}
	}
	return WithLock(ctx, d.path, f), f.unlock, nil
}

// unlock gives the lock back. It removes the file while it holds the lock, so that a process
// that has opened it in the meantime finds out, and makes another.
func (f lockedFile) unlock() {
	if f.lock.Holds(f.path) {
		_ = os.Remove(f.path) // the next holder removes what stays
	}
	_ = f.lock.Close() // a lock that cannot be given back ends with its process
}

// checkLocks refuses a writer if its lock is gone. Where the file of a lock was
// removed, another process may have made and locked it again.
func (d *Dir) checkLocks(ctx context.Context) error {
	for _, f := range Locks[lockedFile](ctx, d.path) {
		if !f.lock.Holds(f.path) {
			return fmt.Errorf("%s: %w", f.path, ErrLockLost)
		}
	}
	return nil
}
