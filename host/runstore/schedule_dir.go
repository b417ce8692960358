package runstore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

var _ Scheduler = (*Dir)(nil)

// schedule is what Due has found out before.
type schedule struct {
	woken wokenRuns

	mu    sync.Mutex
	files map[string]known // by run
}

// known is what a look at a run file has found.
type known struct {
	info    fs.FileInfo
	at      time.Time // see Record.DueAt
	due     bool
	expires time.Time
}

// Wake implements Scheduler.
func (d *Dir) Wake(_ context.Context, id string) error {
	if !idPattern.MatchString(id) {
		return nil
	}
	if _, err := os.Lstat(d.at(id, recordExt)); err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	return d.schedule.woken.add(id)
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
	woken, err := s.woken.since()
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
		s.woken.remove(id)
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
	if l, err := d.read(id); err == nil && l.record.ID == id {
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

// Watch implements Scheduler. Where the system does not tell of changes in a directory, only
// what this process has woken is heard of.
func (d *Dir) Watch(ctx context.Context) <-chan string { return d.schedule.woken.watch(ctx) }

// wokenDir is the directory of a wokenRuns.
const wokenDir = "woken"

// wokenRuns is a directory with an empty file for each run that was woken and not claimed
// since. Its time of modification is when. It is not synced: after the failure of a machine,
// the records and the store of approvals say what it said.
type wokenRuns struct {
	dir   string
	wakes wakes // channels only
}

// add notes that a run was woken, and tells of it.
func (r *wokenRuns) add(id string) error {
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(r.dir, id), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	r.wakes.announce(id)
	return ignore(err, fs.ErrExist)
}

// remove forgets that a run was woken.
func (r *wokenRuns) remove(id string) {
	_ = os.Remove(filepath.Join(r.dir, id)) // what stays has the run looked at once more
}

// since returns the runs that were woken, and when.
func (r *wokenRuns) since() (map[string]time.Time, error) {
	out := map[string]time.Time{}
	entries, err := os.ReadDir(r.dir)
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

// watch returns a channel that tells of the runs that this process or another one wakes.
func (r *wokenRuns) watch(ctx context.Context) <-chan string {
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = errors.Join(os.MkdirAll(r.dir, 0o700), w.Add(r.dir)); err != nil {
			_ = w.Close()
		}
	}
	if err == nil {
		context.AfterFunc(ctx, func() { _ = w.Close() })
		go r.announceFiles(w)
	}
	return r.wakes.watch(ctx)
}

// announceFiles tells of runs that other processes have woken, until the watcher is closed.
func (r *wokenRuns) announceFiles(w *fsnotify.Watcher) {
	events, failures := w.Events, w.Errors
	for events != nil || failures != nil {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if id := filepath.Base(e.Name); e.Has(fsnotify.Create) && idPattern.MatchString(id) {
				r.wakes.announce(id)
			}
		case _, ok := <-failures: // what was lost, Due finds
			if !ok {
				failures = nil
			}
		}
	}
}
