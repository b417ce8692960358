package documents

import (
	"context"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// times are how often a directory is looked at although nothing was heard of it: seldom
// where the system tells of changes, which it does not for other machines that
// share the directory; more often where it does not tell.
type times struct{ told, untold time.Duration }

var defaultTimes = times{told: 5 * time.Second, untold: time.Second}

// Watch implements Store.
func (d *Dir) Watch(ctx context.Context, ext string) <-chan struct{} {
	c := make(chan struct{}, 1)
	own := d.watchers.Add(ctx, ext)
	every := d.times.told
	w, err := fsnotify.NewWatcher()
	if err == nil {
		if err = w.Add(d.path); err != nil {
			err = w.Close() // without a watch it is of no use
			w = nil
		}
	}
	if w == nil || err != nil {
		w, every = &fsnotify.Watcher{}, d.times.untold // its channels never receive
	}
	go watch(ctx, ext, c, own, w, every, d.times.untold)
	return c
}

// watch passes on events of the directory, changes by this process, and
// ticks. The ticks find what events miss: file systems drop them, and some have
// no events at all.
func watch(ctx context.Context, ext string, c chan struct{}, own <-chan struct{}, w *fsnotify.Watcher, every, untold time.Duration) {
	if w.Events != nil {
		defer w.Close()
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e, ok := <-w.Events:
			if ok && !strings.HasSuffix(e.Name, ext) {
				continue
			}
			if !ok {
				w = &fsnotify.Watcher{}
				tick.Reset(untold)
			}
		case _, ok := <-w.Errors: // events may have been lost
			if !ok {
				w = &fsnotify.Watcher{}
				tick.Reset(untold)
			}
		case <-own:
		case <-tick.C:
		}
		nudge(c)
	}
}
