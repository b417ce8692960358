package runstore

import (
	"context"
	"encoding/json"
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

	"github.com/gofrs/flock"
)

const (
	recordExt  = ".run"
	journalExt = ".calls"
	lockExt    = ".lock"
	tempExt    = ".tmp"
	keyName    = "key"
)

// idPattern keeps ids from naming anything outside the directory.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// Dir is a Store in a directory. Records survive the process, and several
// processes may use one directory at the same time. Writes are atomic: a file is
// written aside, synced and renamed.
type Dir struct {
	path string
	key  []byte
	seq  atomic.Uint64 // names temporary files
	// held is how many records there are, as far as this process knows: others
	// that share the directory are counted again when it looks full.
	held atomic.Int64
}

var _ Store = (*Dir)(nil)

// OpenDir opens the store in path, creating the directory (mode 0700) and its
// key (mode 0600) where they do not exist.
func OpenDir(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("directory of suspended runs: %w", err)
	}
	key, err := loadKey(filepath.Join(path, keyName))
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path, key: key}
	ids, err := d.ids()
	if err != nil {
		return nil, err
	}
	d.held.Store(int64(len(ids)))
	return d, nil
}

func (d *Dir) file(id, ext string) (string, error) {
	if !idPattern.MatchString(id) {
		return "", ErrNotFound
	}
	return filepath.Join(d.path, id+ext), nil
}

// Put implements Store.
func (d *Dir) Put(ctx context.Context, r *Record, max int) error {
	name, err := d.file(r.ID, recordExt)
	if err != nil {
		return fmt.Errorf("run id %q: expected letters, digits, '_' and '-'", r.ID)
	}
	fresh, err := d.checkRoom(ctx, name, max)
	if err != nil {
		return err
	}
	header, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := d.replace(name, seal(d.key, kindRecord, header, r.Image), r.Expires); err != nil {
		return err
	}
	if fresh {
		d.held.Add(1)
	}
	return nil
}

// checkRoom reports whether a record under that name would be a new one, and
// fails if there is no room for it.
func (d *Dir) checkRoom(ctx context.Context, name string, max int) (fresh bool, err error) {
	if _, err := os.Stat(name); err == nil {
		return false, nil
	}
	if max <= 0 || d.held.Load() < int64(max) {
		return true, nil
	}
	left, err := d.Sweep(ctx, time.Now())
	if err == nil && left >= max {
		err = ErrFull
	}
	return true, err
}

// journal is the header of a journal file. It supersedes the calls inside the
// record of the same id and generation, and no other: a crash between the two
// writes of a suspension can never pair an image with the calls of another.
type journal struct {
	ID         string `json:"id"`
	Generation uint64 `json:"generation"`
	Calls      []Call `json:"calls"`
}

// PutCalls implements Store.
func (d *Dir) PutCalls(_ context.Context, id string, generation uint64, calls []Call) error {
	name, err := d.file(id, journalExt)
	if err != nil {
		return err
	}
	r, err := d.readRecord(strings.TrimSuffix(name, journalExt) + recordExt)
	if err != nil {
		return err
	}
	if r.Generation != generation {
		return ErrNotFound
	}
	header, err := json.Marshal(journal{ID: id, Generation: generation, Calls: calls})
	if err != nil {
		return err
	}
	return d.replace(name, seal(d.key, kindJournal, header, nil), r.Expires)
}

// replace puts b under name so that a reader sees the old file or the new one. The
// file's modification time is when the record expires: Sweep need not read the
// others. It is a hint only; what counts is in the record.
func (d *Dir) replace(name string, b []byte, expires time.Time) error {
	tmp := fmt.Sprintf("%s.%d.%d"+tempExt, name, os.Getpid(), d.seq.Add(1))
	if err := writeSynced(tmp, b); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Chtimes(tmp, expires, expires); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, name); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return syncDir(d.path)
}

// Get implements Store.
func (d *Dir) Get(_ context.Context, id string) (*Record, error) {
	name, err := d.file(id, recordExt)
	if err != nil {
		return nil, err
	}
	r, err := d.readRecord(name)
	if err != nil {
		return nil, err
	}
	if r.ID != id {
		return nil, fmt.Errorf("%w: file of another run", ErrCorrupt)
	}
	if !time.Now().Before(r.Expires) {
		return nil, ErrExpired
	}
	if err := d.applyJournal(r); err != nil {
		return nil, err
	}
	return r, nil
}

// List implements Store. A record that vanishes meanwhile is left out.
func (d *Dir) List(ctx context.Context) ([]*Record, error) {
	ids, err := d.ids()
	if err != nil {
		return nil, err
	}
	var out []*Record
	for _, id := range ids {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		r, err := d.Get(ctx, id)
		switch {
		case err == nil:
			r.Image = nil
			out = append(out, r)
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrExpired), errors.Is(err, ErrCorrupt), errors.Is(err, ErrFormat):
		default:
			return nil, err
		}
	}
	return out, nil
}

func (d *Dir) readRecord(name string) (*Record, error) {
	b, err := readRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	header, body, err := unseal(d.key, kindRecord, b)
	if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(header, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if r.Format != FormatVersion {
		return nil, fmt.Errorf("%w: it has format %d, this version reads %d", ErrFormat, r.Format, FormatVersion)
	}
	r.Image = body
	return &r, nil
}

// applyJournal replaces r's calls by those of its journal file, if it has one.
func (d *Dir) applyJournal(r *Record) error {
	name, err := d.file(r.ID, journalExt)
	if err != nil {
		return err
	}
	b, err := readRegular(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	header, _, err := unseal(d.key, kindJournal, b)
	if err != nil {
		return err
	}
	var j journal
	if err := json.Unmarshal(header, &j); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if j.ID == r.ID && j.Generation == r.Generation {
		r.Calls = j.Calls
	}
	return nil
}

// Delete implements Store. The lock file stays until the claim on it is released
// or a sweep finds it: a claim must go on holding a file that others can see.
func (d *Dir) Delete(_ context.Context, id string) error {
	if !idPattern.MatchString(id) {
		return nil
	}
	var errs []error
	for _, ext := range []string{recordExt, journalExt} {
		err := os.Remove(filepath.Join(d.path, id+ext))
		switch {
		case err == nil && ext == recordExt:
			d.held.Add(-1)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Claim implements Store with a file lock, which the operating system drops
// when its holder dies.
func (d *Dir) Claim(_ context.Context, id string) (Claim, error) {
	name, err := d.file(id, lockExt)
	if err != nil {
		return nil, err
	}
	for {
		l := flock.New(name, flock.SetPermissions(0o600))
		ok, err := l.TryLock()
		if err != nil {
			return nil, fmt.Errorf("lock of run %s: %w", id, err)
		}
		if !ok {
			return nil, ErrClaimed
		}
		if sameFile(l, name) {
			return &fileClaim{lock: l, name: name, record: strings.TrimSuffix(name, lockExt) + recordExt}, nil
		}
		// Its last holder removed it between our open and our lock.
		if err := l.Close(); err != nil {
			return nil, err
		}
	}
}

// sameFile reports whether name still leads to the locked file.
func sameFile(l *flock.Flock, name string) bool {
	held, err := l.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(held, there)
}

type fileClaim struct {
	once         sync.Once
	lock         *flock.Flock
	name, record string
}

// Release also removes the lock file of a run that is gone. It does so while it
// holds the lock, so that whoever opened the file meanwhile finds it replaced.
func (c *fileClaim) Release() {
	c.once.Do(func() {
		if _, err := os.Lstat(c.record); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(c.name) // a sweep removes what stays
		}
		_ = c.lock.Close() // the lock goes with the descriptor, which Close cannot keep
	})
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
		case journalExt, lockExt:
			d.sweepOrphan(ctx, e, now)
		}
		if id, ok := strings.CutSuffix(e.Name(), recordExt); ok && !d.sweepRecord(ctx, id, e, now) {
			left++
		}
	}
	d.held.Store(int64(left))
	return left, nil
}

// sweepRecord deletes a record that has expired, and reports whether there is
// none to count: a file that does not verify takes nobody's place.
func (d *Dir) sweepRecord(ctx context.Context, id string, e fs.DirEntry, now time.Time) bool {
	info, err := e.Info()
	if err != nil || now.Before(info.ModTime()) {
		return errors.Is(err, fs.ErrNotExist)
	}
	r, err := d.readRecord(filepath.Join(d.path, e.Name()))
	if err != nil {
		return true
	}
	return !now.Before(r.Expires) && d.remove(ctx, id) == nil
}

// sweepOrphan deletes the journal or lock of a run that has been gone for an hour.
func (d *Dir) sweepOrphan(ctx context.Context, e fs.DirEntry, now time.Time) {
	id := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
	if _, err := os.Lstat(filepath.Join(d.path, id+recordExt)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if info, err := e.Info(); err != nil || now.Sub(info.ModTime()) < time.Hour {
		return
	}
	if err := d.remove(ctx, id); err != nil {
		return // claimed, or the next sweep meets it again
	}
}

// sweepTemp deletes a temporary file that nobody has written to for an hour.
func (d *Dir) sweepTemp(e fs.DirEntry, now time.Time) {
	if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > time.Hour {
		if err := os.Remove(filepath.Join(d.path, e.Name())); err != nil {
			return // somebody else was faster, or the next sweep meets it again
		}
	}
}

// remove deletes an expired run unless somebody is resuming it.
func (d *Dir) remove(ctx context.Context, id string) error {
	c, err := d.Claim(ctx, id)
	if err != nil {
		return err
	}
	defer c.Release()
	return d.Delete(ctx, id)
}

func (d *Dir) ids() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), recordExt); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
