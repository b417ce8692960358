package runstore

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// wakes are the runs of a process that were woken and not claimed since, and the channels
// that tell of them. The zero value is ready for use.
type wakes struct {
	mu    sync.Mutex
	since map[string]time.Time
	tell  map[chan string]struct{}
}

// pending is how many ids a channel of Watch holds for a slow reader, who loses the others.
const pending = 1024

// add marks a run.
func (w *wakes) add(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since == nil {
		w.since = make(map[string]time.Time)
	}
	if _, known := w.since[id]; !known {
		w.since[id] = time.Now()
	}
}

// remove forgets a mark.
func (w *wakes) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since, id)
}

// at says since when a run is marked.
func (w *wakes) at(id string) (since time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, ok = w.since[id]
	return since, ok
}

// announce sends an id to all channels.
func (w *wakes) announce(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.tell {
		select {
		case c <- id:
		default:
		}
	}
}

// watch returns a channel that announce sends to until ctx ends.
func (w *wakes) watch(ctx context.Context) <-chan string {
	c := make(chan string, pending)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tell == nil {
		w.tell = make(map[chan string]struct{})
	}
	w.tell[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.tell, c)
		close(c)
	})
	return c
}

// dueRun is a run that can continue, and since when.
type dueRun struct {
	id string
	at time.Time
}

// oldest returns the ids of the first runs.
func oldest(due []dueRun, limit int) (ids []string) {
	slices.SortFunc(due, func(a, b dueRun) int {
		if n := a.at.Compare(b.at); n != 0 {
			return n
		}
		return strings.Compare(a.id, b.id)
	})
	for _, d := range due[:min(len(due), max(limit, 0))] {
		ids = append(ids, d.id)
	}
	return ids
}
