package host

import (
	"context"
	"sync"
)

// toolWatchers are told when the view is made again.
type toolWatchers struct {
	mu  sync.Mutex
	all map[chan struct{}]bool
}

func (w *toolWatchers) notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		select {
		case c <- struct{}{}:
		default: // it has one to take
		}
	}
}

// ToolsChanged returns a channel that has a value when tools or namespaces may have
// changed since the last one, until ctx ends.
func (h *Host) ToolsChanged(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	w := &h.views.watchers
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[chan struct{}]bool)
	}
	w.all[c] = true
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.all, c)
	})
	return c
}
