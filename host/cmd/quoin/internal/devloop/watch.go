package devloop

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	quiet   = 30 * time.Millisecond  // without events: a save is complete
	longest = 300 * time.Millisecond // that saves which follow one another are waited for
)

// watcher tells of saves in a folder and those below it.
type watcher struct {
	root   string
	ignore func(path string) bool // by path below root, with slashes
	notify *fsnotify.Watcher
	known  map[string][sha256.Size]byte // what files contained when they were looked at last
	saves  chan []string
}

// watch watches until ctx ends. Each list that comes has the paths below
// root, with slashes, of files that have changed content, or are new or gone.
func watch(ctx context.Context, root string, ignore func(string) bool) (*watcher, error) {
	n, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watcher{root: root, ignore: ignore, notify: n, known: map[string][sha256.Size]byte{}, saves: make(chan []string)}
	if err := w.add(root, nil); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	go w.run(ctx)
	return w, nil
}

// add watches a folder and those below it, and notes the content of the files in
// them, or adds their paths to changed.
func (w *watcher) add(dir string, changed map[string]bool) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone already
		case err != nil:
			return err
		case path != w.root && w.passes(path):
			if e.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case e.IsDir():
			return w.notify.Add(path)
		case changed != nil:
			changed[path] = true
			return nil
		}
		w.differs(path)
		return nil
	})
}

// passes reports whether changes of a path are ignored.
func (w *watcher) passes(path string) bool {
	rel, err := filepath.Rel(w.root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return true
	}
	rel = filepath.ToSlash(rel)
	base := rel[strings.LastIndexByte(rel, '/')+1:]
	return strings.HasPrefix(base, ".") || strings.HasPrefix(base, "#") || strings.HasSuffix(base, "~") ||
		base == "node_modules" || base == "4913" || w.ignore(rel)
}

// differs reports whether a file is not what it was when it was looked at last.
func (w *watcher) differs(path string) bool {
	before, known := w.known[path]
	now, err := contentSum(path)
	if err != nil {
		delete(w.known, path)
		return known
	}
	w.known[path] = now
	return !known || now != before
}

func contentSum(path string) (sum [sha256.Size]byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return sum, err
	}
	if !info.Mode().IsRegular() {
		return sum, nil // a pipe would be waited for
	}
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	copy(sum[:], h.Sum(nil))
	return sum, errors.Join(err, f.Close())
}

// run collects events until they pause, and passes on what has changed.
func (w *watcher) run(ctx context.Context) {
	defer close(w.saves)
	defer w.notify.Close()
	changed := map[string]bool{}
	var ready []string
	var pause, end <-chan time.Time
	for {
		var out chan<- []string
		if len(ready) > 0 {
			out = w.saves
		}
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.notify.Events:
			if !ok {
				return
			}
			if e.Op == fsnotify.Chmod || w.passes(e.Name) {
				continue
			}
			w.note(e, changed)
			if pause = time.After(quiet); end == nil {
				end = time.After(longest)
			}
			continue
		case _, ok := <-w.notify.Errors:
			if !ok {
				return
			}
			changed[w.root] = true // events may be lost: look at everything
			pause, end = time.After(quiet), time.After(longest)
			continue
		case out <- ready:
			ready = nil
			continue
		case <-pause:
		case <-end:
		}
		ready = w.settle(ready, changed)
		changed, pause, end = map[string]bool{}, nil, nil
	}
}

// note takes an event for later; a new folder is watched at once.
func (w *watcher) note(e fsnotify.Event, changed map[string]bool) {
	if info, err := os.Stat(e.Name); err == nil && info.IsDir() {
		if w.add(e.Name, changed) != nil {
			changed[w.root] = true // something below it could not be watched: look again
		}
		return
	}
	changed[e.Name] = true
}

// settle adds to ready the paths that really have changed.
func (w *watcher) settle(ready []string, changed map[string]bool) []string {
	if changed[w.root] {
		// What cannot be watched now is tried again with the next event.
		_ = w.add(w.root, changed)
		for path := range w.known {
			changed[path] = true
		}
		delete(changed, w.root)
	}
	for path := range changed {
		if !w.differs(path) {
			continue
		}
		rel, err := filepath.Rel(w.root, path)
		if err == nil && !slices.Contains(ready, filepath.ToSlash(rel)) {
			ready = append(ready, filepath.ToSlash(rel))
		}
	}
	slices.Sort(ready)
	return ready
}
