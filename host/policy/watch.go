package policy

import (
	"context"
	"sync"
)

// watchers are the channels of Watch. The zero value is ready for use.
type watchers struct {
	mu   sync.Mutex
	list map[chan struct{}]struct{}
}

// add returns a channel that receives until ctx ends. It has capacity 1, so that
// a slow reader misses no change but never blocks tell.
func (w *watchers) add(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	if w.list == nil {
		w.list = make(map[chan struct{}]struct{})
	}
	w.list[c] = struct{}{}
	w.mu.Unlock()
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.list, c)
	})
	return c
}

// tell makes every channel receive.
func (w *watchers) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.list {
		nudge(c)
	}
}

// nudge makes c, of capacity 1, receive.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
