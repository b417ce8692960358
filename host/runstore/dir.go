package runstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/internal/durable"
)

const (
	recordExt = ".run"
	endedExt  = ".end"
	lockExt   = ".lock"
	tempExt   = durable.TempExt
	keyName   = "key"
	storeName = "store"
)

// idPattern keeps ids from naming anything outside the directory.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// Dir is a Store in a directory. Records survive the process, and several
// processes may use one directory at the same time. Each run has one file: Create
// writes it aside, syncs and renames it; Checkpoint and PutCalls append to it and sync.
// A claim is a lock on another file, which has the epoch in it.
type Dir struct {
	path string
	key  []byte
	id   string // see Identity
	// held is how many records there are, as far as this process knows: others
	// that share the directory are counted again when it looks full.
	held atomic.Int64

	mu   sync.Mutex
	open map[string]*open // by run id

	schedule schedule

	listMu sync.Mutex
	listed map[string]listedFile // by run id
}

var (
	_ Store       = (*Dir)(nil)
	_ Identified  = (*Dir)(nil)
	_ EffectStore = (*Dir)(nil)
)

// OpenDir opens the store in path, creating the directory (mode 0700), its key (mode
// 0600) and its id where they do not exist.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("directory of suspended runs: %w", err)
	}
	key, err := loadKey(filepath.Join(path, keyName))
	if err != nil {
		return nil, err
	}
	id, err := loadID(filepath.Join(path, storeName))
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, key: key, id: id}
	ids, err := names(d.path, recordExt)
	if err != nil {
		return nil, err
	}
	d.held.Store(int64(len(ids)))
	return d, nil
}

// Identity implements Identified.
func (d *Dir) Identity() string { return d.Key().StoreIdentity(d.id) }

// loadID returns the id in path, which tells a directory from others with its key. It
// makes one if there is no file; two processes that start at the same time agree.
func loadID(path string) (string, error) {
	id, err := durable.ReadFile(path, maxID)
	if errors.Is(err, fs.ErrNotExist) {
		if err := ignore(durable.Create(path, []byte(rand.Text()), durable.Options{}), fs.ErrExist); err != nil {
			return "", fmt.Errorf("id of the run store: %w", err)
		}
		id, err = durable.ReadFile(path, maxID)
	}
	if err == nil && len(id) == 0 {
		err = errors.New("the file is empty, expected the id of the store")
	}
	if err != nil {
		return "", fmt.Errorf("id of the run store, %s: %w", path, err)
	}
	return string(id), nil
}

// maxID bounds the id of a directory.
const maxID = 256

func (d *Dir) file(id, ext string) (string, error) {
	if !idPattern.MatchString(id) {
		return "", ErrNotFound
	}
	return filepath.Join(d.path, id+ext), nil
}

// checkRoom fails if there is no room for another record.
func (d *Dir) checkRoom(ctx context.Context, max int) error {
	if max <= 0 || d.held.Load() < int64(max) {
		return nil
	}
	left, err := d.Sweep(ctx, time.Now())
	if err == nil && left >= max {
		err = ErrFull
	}
	return err
}

// replace puts b under name so that a reader sees the old file or the new one. The
// file's modification time is when the record expires: Sweep need not read the
// others. It is a hint only; what counts is in the record.
func (d *Dir) replace(name string, b []byte, expires time.Time) error {
	return durable.Replace(name, b, durable.Options{ModTime: expires})
}

// Get implements Store.
func (d *Dir) Get(_ context.Context, id string) (*Record, error) {
	l, err := d.get(id)
	if l == nil {
		return nil, err
	}
	return l.record, err
}

func (d *Dir) get(id string) (*log, error) {
	name, err := d.file(id, recordExt)
	if err != nil {
		return nil, err
	}
	if d.hasEnded(id) {
		return nil, ErrEnded
	}
	l, err := d.readFile(name)
	if err != nil {
		return nil, err
	}
	r := l.record
	if r.ID != id {
		return nil, fmt.Errorf("%w: file of another run", ErrCorrupt)
	}
	if !time.Now().Before(r.Expires) {
		return l, ErrExpired
	}
	return l, nil
}

func (d *Dir) readFile(name string) (*log, error) {
	b, err := readRegular(name, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return readLog(d.key, b)
}

// deleteRun deletes the files of a run. The lock file stays until the claim on it is
// released or a sweep finds it: a claim must go on holding a file that others can see.
func (d *Dir) deleteRun(id string) error {
	return errors.Join(d.deleteRecord(id), ignore(os.Remove(filepath.Join(d.path, id+endedExt)), fs.ErrNotExist))
}

func (d *Dir) deleteRecord(id string) error {
	d.close(id)
	err := os.Remove(filepath.Join(d.path, id+recordExt))
	if err == nil {
		d.held.Add(-1)
	}
	return ignore(err, fs.ErrNotExist)
}

// Sweep implements Store. A file that does not verify is left for the operator.
// What writers and claims that died have left goes too, once it is old.
func (d *Dir) Sweep(ctx context.Context, now time.Time) (int, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return 0, err
	}
	left := 0
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case tempExt:
			d.sweepTemp(e, now)
		case lockExt:
			d.sweepOrphan(e, now)
		case endedExt:
			d.sweepEnded(e, now)
		case effectsExt:
			d.sweepEffects(strings.TrimSuffix(e.Name(), effectsExt), e, now)
		}
		if id, ok := strings.CutSuffix(e.Name(), recordExt); ok && !d.sweepRecord(id, e, now) {
			left++
		}
	}
	d.held.Store(int64(left))
	return left, nil
}

// sweepRecord deletes a record that has expired, and reports whether there is
// no record to count: a file that does not verify takes no place.
func (d *Dir) sweepRecord(id string, e fs.DirEntry, now time.Time) bool {
	info, err := e.Info()
	if err != nil || now.Before(info.ModTime()) {
		return errors.Is(err, fs.ErrNotExist)
	}
	l, err := d.readFile(filepath.Join(d.path, e.Name()))
	if err != nil {
		return true
	}
	return !now.Before(l.record.Expires) && d.removeExpired(id, now)
}

// removeExpired deletes an expired run unless someone is resuming it, and reports
// whether it is gone. Until the claim is here, others may have used the run.
func (d *Dir) removeExpired(id string, now time.Time) bool {
	l, err := d.takeLock(id)
	if err != nil {
		return false
	}
	defer l.release()
	log, err := d.readFile(filepath.Join(d.path, id+recordExt))
	if err == nil && !now.Before(log.record.Expires) {
		return d.deleteRun(id) == nil
	}
	return errors.Is(err, ErrNotFound)
}

// sweepOrphan deletes the lock of a run that has been gone for an hour.
func (d *Dir) sweepOrphan(e fs.DirEntry, now time.Time) {
	id := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
	if d.has(id) {
		return
	}
	if info, err := e.Info(); err != nil || now.Sub(info.ModTime()) < time.Hour {
		return
	}
	if l, err := d.takeLock(id); err == nil {
		l.release() // which removes it
	}
}

// sweepTemp deletes a temporary file that was not written to for an hour.
func (d *Dir) sweepTemp(e fs.DirEntry, now time.Time) {
	if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > time.Hour {
		if err := os.Remove(filepath.Join(d.path, e.Name())); err != nil {
			return // someone else was faster, or the next sweep meets it again
		}
	}
}
