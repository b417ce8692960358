package runstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

var _ Scheduler = (*Dir)(nil)

// wokenDir has an empty file for each run that was woken and not claimed since. Its time of
// modification is when. It is not synced: after the failure of a machine, the records and the
// store of approvals say what it said.
const wokenDir = "woken"

// Wake implements Scheduler.
func (d *Dir) Wake(_ context.Context, id string) error {
	if !idPattern.MatchString(id) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(d.path, id+recordExt)); err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	dir := filepath.Join(d.path, wokenDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, id), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	d.schedule.wakes.announce(id)
	return ignore(err, fs.ErrExist)
}

// unwake forgets that a run was woken.
func (d *Dir) unwake(id string) {
	_ = os.Remove(filepath.Join(d.path, wokenDir, id)) // what stays has the run looked at once more
}

// Due implements Scheduler. It reads the files that have changed since the last call.
func (d *Dir) Due(ctx context.Context, limit int) ([]string, error) {
	s := &d.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, err
	}
	woken, err := d.woken()
	if err != nil {
		return nil, err
	}
	files, now := make(map[string]known, len(s.files)), time.Now()
	var due []dueRun
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), recordExt)
		if !ok {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		k, ok := d.lookAt(e)
		if !ok {
			continue
		}
		files[id] = k
		if since, ok := woken[id]; ok && (!k.due || since.Before(k.at)) {
			k.at, k.due = since, true
		}
		delete(woken, id)
		if k.due && !k.at.After(now) && now.Before(k.expires) && d.isFree(id) {
			due = append(due, dueRun{id, k.at})
		}
	}
	s.files = files
	for id := range woken { // their runs have ended
		d.unwake(id)
	}
	return oldest(due, limit), nil
}

// lookAt returns what is to know of a run file; ok is false if it is gone. The caller holds
// the mu of the schedule.
func (d *Dir) lookAt(e fs.DirEntry) (known, bool) {
	id := strings.TrimSuffix(e.Name(), recordExt)
	info, err := e.Info()
	if err != nil {
		return known{}, false
	}
	k, ok := d.schedule.files[id]
	if ok && unchanged(k.info, info) {
		return k, true
	}
	k = known{info: info}
	if l, err := d.readFile(filepath.Join(d.path, e.Name())); err == nil && l.record.ID == id {
		k.at, k.due = l.record.DueAt()
		k.expires = l.record.Expires
	}
	return k, true
}

// isFree reports whether no process has a run, and it has not ended.
func (d *Dir) isFree(id string) bool {
	l, err := d.takeLock(id)
	if err != nil {
		return false
	}
	defer l.release()
	return !d.hasEnded(id)
}

// woken returns the runs that were woken, and when.
func (d *Dir) woken() (map[string]time.Time, error) {
	out := map[string]time.Time{}
	entries, err := os.ReadDir(filepath.Join(d.path, wokenDir))
	if err != nil {
		return out, ignore(err, fs.ErrNotExist)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && idPattern.MatchString(e.Name()) {
			out[e.Name()] = info.ModTime()
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return out, nil
}

// Watch implements Scheduler. Where the system does not tell of changes in a directory, only
// what this process has woken is heard of.
func (d *Dir) Watch(ctx context.Context) <-chan string {
	dir := filepath.Join(d.path, wokenDir)
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = errors.Join(os.MkdirAll(dir, 0o700), w.Add(dir)); err != nil {
			_ = w.Close()
		}
	}
	if err == nil {
		context.AfterFunc(ctx, func() { _ = w.Close() })
		go d.announceFiles(w)
	}
	return d.schedule.wakes.watch(ctx)
}

// announceFiles tells of runs that other processes have woken, until the watcher is closed.
func (d *Dir) announceFiles(w *fsnotify.Watcher) {
	events, failures := w.Events, w.Errors
	for events != nil || failures != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if id := filepath.Base(e.Name); e.Has(fsnotify.Create) && idPattern.MatchString(id) {
				d.schedule.wakes.announce(id)
			}
		case _, ok := <-failures: // what was lost, Due finds
			if !ok {
				failures = nil
			}
		}
	}
}
