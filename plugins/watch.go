package plugins

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/quoinhq/quoin/internal/childprocess"
	"github.com/quoinhq/quoin/internal/trust"
)

// watcher keeps the plugins in line with their directory. It belongs to one
// goroutine, run.
type watcher struct {
	s      *Supervisor
	dir    string
	clock  clock
	times  times
	notify *fsnotify.Watcher // nil: the system tells nothing
	events <-chan fsnotify.Event
	errors <-chan error

	watched map[string]os.FileInfo // the folders told of, by path
	owners  map[string][]string    // the plugins that a folder matters to, by its path
	touched map[string]bool        // plugins with events in their folders
	retries map[string]*restarts   // of plugins that fail though nothing of them has changed
	busy    chan string            // ids of plugins with a binary open for writing

	due    <-chan time.Time
	cancel func()
	since  time.Time // of the first event that has not settled
}

// newWatcher starts to listen, so that nothing is missed from here on.
func (s *Supervisor) newWatcher() *watcher {
	w := &watcher{
		s: s, dir: s.dir, clock: s.options.clock, times: s.options.times, cancel: func() {},
		watched: map[string]os.FileInfo{}, touched: map[string]bool{}, retries: map[string]*restarts{},
		busy: make(chan string),
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		s.options.Logger.Warn("the system does not tell of changes to plugins; they are looked for instead", "dir", s.dir, "error", err)
		return w
	}
	w.notify, w.events, w.errors = notify, notify.Events, notify.Errors
	_, _ = w.scanAndWatch() // run looks again, and says what is wrong
	return w
}

// run looks after every change until the supervisor is closed.
func (w *watcher) run() {
	defer func() {
		w.cancel()
		if w.notify != nil {
			if err := w.notify.Close(); err != nil {
				w.s.options.Logger.Error("watching plugins", "error", err)
			}
		}
	}()
	w.reconcile() // what has happened while the plugins were loaded
	for {
		select {
		case e := <-w.events:
			w.handleEvent(e)
		case err := <-w.errors:
			w.handleError(err)
		case id := <-w.busy:
			w.touched[id] = true
			delete(w.retries, id)
			w.schedule(w.times.rescan)
		case <-w.due:
			w.reconcile()
		case <-w.s.life.Done():
			return
		}
	}
}

// handleEvent takes an event. Whatever it says, the folders are looked at.
func (w *watcher) handleEvent(e fsnotify.Event) {
	for _, path := range []string{filepath.Dir(e.Name), e.Name} {
		for _, id := range w.owners[path] {
			w.touched[id] = true
		}
	}
	if filepath.Base(e.Name) == trust.LockName {
		for _, p := range w.s.present() {
			w.touched[p.id] = true
		}
	}
	w.schedule(w.times.settle)
}

// handleError handles an error of the system's: events may be missing.
func (w *watcher) handleError(err error) {
	if !errors.Is(err, fsnotify.ErrEventOverflow) {
		w.s.options.Logger.Warn("watching plugins", "dir", w.dir, "error", err)
	}
	for _, p := range w.s.present() {
		w.touched[p.id] = true
	}
	w.schedule(w.times.settle)
}

// schedule has the folders looked at after a delay, which starts again with every
// event, but not for ever.
func (w *watcher) schedule(after time.Duration) {
	now := w.clock.Now()
	if w.due == nil {
		w.since = now
	}
	w.cancel()
	w.due, w.cancel = w.clock.After(max(0, min(after, w.since.Add(w.times.settleLongest).Sub(now))))
}

// reconcile compares the directory with the plugins there are, and loads, reloads
// and removes what differs. It does not wait for that.
func (w *watcher) reconcile() {
	w.cancel()
	w.due = nil
	sights, err := w.scanAndWatch()
	if err != nil { // it may be about to be replaced as a whole
		w.s.options.Logger.Error("the plugin directory cannot be read; its plugins stay as they are", "dir", w.dir, "error", err)
		sights = nil
	}
	for _, id := range w.ids(sights) {
		now, there := sights[id]
		if w.s.options.bundled(id) != nil {
			continue
		}
		p, unknown := w.s.plugin(id)
		switch known := unknown == nil; {
		case there && (!known || w.needsReload(p, now)), err == nil && known && !there && p.isInstalled():
			w.reload(id)
		}
	}
	clear(w.touched)
	if w.notify == nil {
		w.schedule(w.times.rescan)
	}
}

// ids returns the plugins of the directory and the plugins of the supervisor, in order.
func (w *watcher) ids(sights map[string]folderState) []string {
	ids := slices.Collect(maps.Keys(sights))
	for _, p := range w.s.present() {
		ids = append(ids, p.id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// needsReload reports whether a load would find something else than the last one did.
// One that failed is worth another attempt too when something has happened there,
// a few times.
func (w *watcher) needsReload(p *supervised, now folderState) bool {
	mark, failed := p.lastLoad()
	if mark != now.fingerprint {
		delete(w.retries, p.id)
		return true
	}
	if !failed || !w.touched[p.id] {
		return false
	}
	r := w.retries[p.id]
	if r == nil {
		r = &restarts{policy: w.s.options.Restart}
		w.retries[p.id] = r
	}
	_, ok := r.next(w.clock.Now())
	return ok
}

// reload starts a reload. Its failure is the plugin's to report.
func (w *watcher) reload(id string) {
	w.s.jobs.Go(func() {
		err := w.s.Reload(w.s.life, id)
		if !childprocess.IsTextBusy(err) {
			return
		}
		select {
		case w.busy <- id:
		case <-w.s.life.Done():
		}
	})
}

// scanAndWatch looks at every plugin folder, after it has made sure that the system
// tells of what happens there from then on.
func (w *watcher) scanAndWatch() (map[string]folderState, error) {
	for {
		sights, owners, err := w.scan()
		if !w.updateWatches(owners) {
			w.owners = owners
			return sights, err
		}
	}
}

// scan looks at the directory as it is.
func (w *watcher) scan() (sights map[string]folderState, owners map[string][]string, err error) {
	sights = map[string]folderState{}
	real, dirs := resolve(w.dir)
	owners = map[string][]string{real: nil, filepath.Dir(real): nil}
	for _, d := range dirs {
		owners[d] = nil
	}
	before, err := os.Stat(w.dir)
	if err != nil {
		return nil, owners, err
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return nil, owners, err
	}
	for _, e := range entries {
		id, dir := e.Name(), filepath.Join(w.dir, e.Name())
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || strings.HasPrefix(id, ".") {
			continue
		}
		now := inspectFolder(dir)
		if isPluginDir(dir) {
			sights[id] = now
		}
		for _, d := range now.dirs {
			owners[d] = append(owners[d], id)
		}
	}
	// The folders of a directory that has gone by then are not seen, and were not removed.
	after, err := os.Stat(w.dir)
	switch {
	case err != nil:
		return nil, owners, err
	case !os.SameFile(before, after):
		return w.scan()
	}
	return sights, owners, nil
}

// updateWatches makes the system tell of the folders in owners and of no others. It
// reports whether there is a folder it did not tell of before.
func (w *watcher) updateWatches(owners map[string][]string) (news bool) {
	if w.notify == nil {
		return false
	}
	for path, was := range w.watched {
		now, err := os.Stat(path)
		if _, wanted := owners[path]; wanted && err == nil && os.SameFile(was, now) {
			continue
		}
		delete(w.watched, path)
		if err := w.notify.Remove(path); err != nil && !errors.Is(err, fsnotify.ErrNonExistentWatch) {
			w.s.options.Logger.Warn("watching plugins", "dir", path, "error", err)
		}
	}
	for path := range owners {
		if _, known := w.watched[path]; known {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if err := w.notify.Add(path); err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				w.s.options.Logger.Warn("changes of plugins in a folder are not seen", "dir", path, "error", err)
			}
			continue
		}
		w.watched[path] = info
		news = true
	}
	return news
}
