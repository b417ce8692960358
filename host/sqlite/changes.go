package sqlite

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/quoinhq/quoin/internal/documents"
)

// count counts a change, and returns how many there have been.
func (t *tx) count(purpose, ext string) (n int64, err error) {
	err = t.row(`INSERT INTO changes (purpose, ext, count) VALUES (?, ?, 1) ON CONFLICT (purpose, ext) DO UPDATE SET count = count + 1 RETURNING count`,
		[]any{purpose, ext}, &n)
	return n, err
}

// changes tells those who watch of what this process and others have written. It looks at the
// counts of changes when the system tells that the log of the database was written to, and from
// time to time whatever was heard.
type changes struct {
	start    sync.Once
	now      chan struct{} // this process has changed something
	watchers documents.Watchers

	counts map[kind]int64 // as they were seen last; of the goroutine that looks
}

// kind is what is counted together.
type kind struct{ purpose, ext string }

// of is the name of a kind for watchers.
func (k kind) of() string { return k.purpose + "\x00" + k.ext }

// look has the changes looked at soon.
func (c *changes) look() {
	select {
	case c.now <- struct{}{}:
	default:
	}
}

// watch returns a channel that receives after there may have been changes of a kind, until ctx
// ends.
func (c *changes) watch(ctx context.Context, d *conn, k kind) <-chan struct{} {
	heard := c.watchers.Add(ctx, k.of())
	c.start.Do(func() {
		c.counts = d.changeCounts()
		d.done.Go(func() { c.tell(d) })
	})
	return heard
}

// tell looks for changes until the DB is closed.
func (c *changes) tell(d *conn) {
	every, w := d.times.told, watchFolder(d.dir)
	if w == nil {
		every, w = d.times.untold, &fsnotify.Watcher{} // its channels never receive
	} else {
		defer w.Close()
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case e, ok := <-w.Events:
			if !ok {
				w = &fsnotify.Watcher{}
				tick.Reset(d.times.untold)
			} else if !strings.HasSuffix(e.Name, "-wal") {
				continue
			}
		case _, ok := <-w.Errors: // events may have been lost
			if !ok {
				w = &fsnotify.Watcher{}
				tick.Reset(d.times.untold)
			}
		case <-c.now:
		case <-tick.C:
		}
		newest := d.changeCounts()
		for k, n := range newest {
			if c.counts[k] != n {
				c.watchers.Tell(k.of())
			}
		}
		if newest != nil {
			c.counts = newest
		}
	}
}

// watchFolder returns nil where the system does not tell of changes.
func watchFolder(dir string) *fsnotify.Watcher {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil
	}
	if w.Add(filepath.Clean(dir)) != nil {
		_ = w.Close() // without a watch it is of no use
		return nil
	}
	return w
}

// changeCounts returns how often each kind has changed, nil if that cannot be read now.
func (d *conn) changeCounts() map[kind]int64 {
	counts := map[kind]int64{}
	err := d.read(d.ctx, func(q querier) error {
		return q.rows(`SELECT purpose, ext, count FROM changes`, nil, func(scan func(...any) error) error {
			var k kind
			var n int64
			err := scan(&k.purpose, &k.ext, &n)
			counts[k] = n
			return err
		})
	})
	if err != nil {
		if d.ctx.Err() == nil {
			d.log.Debug("changes were not looked for", "error", err)
		}
		return nil
	}
	return counts
}
