package runstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

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
	l, err := d.read(id)
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
	log, err := d.read(id)
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
func (d folder) sweepTemp(e fs.DirEntry, now time.Time) {
	if info, err := e.Info(); err == nil && now.Sub(info.ModTime()) > time.Hour {
		_ = os.Remove(filepath.Join(d.path, e.Name())) // the next sweep meets what stays
	}
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
