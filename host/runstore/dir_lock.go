package runstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/quoinhq/quoin/internal/durable"
)

// A lock file holds the newest epoch of its run in decimal, from its second byte on: on
// Windows, no other handle can read the byte that is locked. It is not synced. After the
// machine has failed it may hold an older epoch than the run file; then the first write
// of a claim finds that out, and raises it.
const (
	epochAt    = 1
	epochWidth = 20 // digits of the largest one
)

// reservation is the id under which the id of a run without a record is held.
func reservation(runID string) string { return "reserved_" + runID }

// dirLock is a lock of one id, which the operating system drops when its holder dies.
type dirLock struct {
	d    *Dir
	id   string
	name string
	once sync.Once
	lock *durable.FileLock
}

// takeLock locks an id, or answers ErrClaimed.
func (d *Dir) takeLock(id string) (*dirLock, error) {
	name, err := d.file(id, lockExt)
	if err != nil {
		return nil, err
	}
	for {
		l := durable.NewLock(name)
		err := l.TryLock()
		if errors.Is(err, durable.ErrLocked) {
			return nil, ErrClaimed
		}
		if err != nil {
			return nil, fmt.Errorf("lock of run %s: %w", id, err)
		}
		if l.Holds(name) {
			return &dirLock{d: d, id: id, name: name, lock: l}, nil
		}
		// Its last holder removed it between our open and our lock.
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
}

// release also removes the lock file of a run that is gone. It does so while it holds
// the lock, so that a process that opened the file before finds it replaced.
func (l *dirLock) release() {
	l.once.Do(func() {
		l.d.files.closeSound(l.id)
		if !l.d.has(l.id) {
			_ = os.Remove(l.name) // a sweep removes what stays
		}
		_ = l.lock.Close() // the lock goes with the descriptor, which Close cannot keep
	})
}

// epoch returns the epoch in the lock file, or 0.
func (l *dirLock) epoch() (epoch uint64, err error) {
	f, err := os.Open(l.name)
	if err != nil {
		return 0, err
	}
	b := make([]byte, epochWidth)
	n, _ := f.ReadAt(b, epochAt) // short: there is no epoch in it
	if n == epochWidth {
		epoch, err = strconv.ParseUint(string(b), 10, 64)
	}
	if err != nil {
		err = fmt.Errorf("%w: lock file %s holds no epoch: remove it while no host runs", ErrCorrupt, filepath.Base(l.name))
	}
	return epoch, errors.Join(err, f.Close())
}

// setEpoch writes the epoch into the lock file.
func (l *dirLock) setEpoch(epoch uint64) error {
	f, err := os.OpenFile(l.name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%0*d", epochWidth, epoch), epochAt)
	return errors.Join(err, f.Close())
}

// next counts a claim and returns its epoch, which is greater than least. A run with no epoch
// in its lock file has it in its other files.
func (l *dirLock) next(least uint64) (uint64, error) {
	epoch, err := l.epoch()
	if err == nil && epoch == 0 {
		epoch, err = l.d.storedEpoch(l.id)
	}
	if err != nil {
		return 0, err
	}
	epoch = max(epoch, least) + 1
	return epoch, l.setEpoch(epoch)
}

// storedEpoch returns the newest epoch that the files of a run have. No claim can continue
// with a damaged file, whatever its epoch.
func (d *Dir) storedEpoch(id string) (uint64, error) {
	l, err := d.read(id)
	if err == nil {
		return l.epoch, nil
	}
	if e, endedErr := d.Ended(context.Background(), id); endedErr == nil {
		return e.Epoch, nil
	}
	for _, harmless := range []error{ErrNotFound, ErrCorrupt, ErrFormat} {
		err = ignore(err, harmless)
	}
	return 0, err
}
