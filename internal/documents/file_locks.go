package documents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/quoinhq/quoin/internal/durable"
)

// lockExt is the extension of files that are locked.
const lockExt = ".lock"

// FileLocks are locks of the processes of one machine, a file for each. A lock ends with its
// process, and with its file.
type FileLocks struct{ folder string }

// NewFileLocks returns the locks in a folder, which is made with the first of them.
func NewFileLocks(folder string) *FileLocks { return &FileLocks{folder} }

// lockedFile is a lock that a process holds.
type lockedFile struct {
	lock *durable.FileLock
	path string
}

// Lock is Lock of a Store.
func (l *FileLocks) Lock(ctx context.Context, name string) (held context.Context, unlock func(), err error) {
	if err := CheckName(name); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(l.folder, 0o700); err != nil {
		return nil, nil, err
	}
	f := lockedFile{path: filepath.Join(l.folder, strings.TrimSuffix(name, lockExt)+lockExt)}
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
	return WithLock(ctx, l.folder, f), f.unlock, nil
}

// unlock gives the lock back. It removes the file while it holds the lock, so that a process
// that has opened it in the meantime finds out, and makes another.
func (f lockedFile) unlock() {
	if f.lock.Holds(f.path) {
		_ = os.Remove(f.path) // the next holder removes what stays
	}
	_ = f.lock.Close() // a lock that cannot be given back ends with its process
}

// Check refuses the writer of ctx with ErrLockLost if a lock is gone. Where the file of a lock
// was removed, another process may have made and locked it again.
func (l *FileLocks) Check(ctx context.Context) error {
	for _, f := range Locks[lockedFile](ctx, l.folder) {
		if !f.lock.Holds(f.path) {
			return fmt.Errorf("%s: %w", f.path, ErrLockLost)
		}
	}
	return nil
}
