package documents

import (
	"context"
	"sync"
)

// Watchers are the channels of Watch. The zero value is ready for use.
type Watchers struct {
	mu   sync.Mutex
	list map[chan struct{}]string // the extension of each
}

// Add returns a channel that receives until ctx ends. It has capacity 1, so that
// a slow reader misses no change but never blocks Tell.
func (w *Watchers) Add(ctx context.Context, ext string) <-chan struct{} {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	if w.list == nil {
		w.list = make(map[chan struct{}]string)
	}
	w.list[c] = ext
	w.mu.Unlock()
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.list, c)
	})
	return c
}

// Tell makes the channels of an extension receive.
func (w *Watchers) Tell(ext string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c, of := range w.list {
		if of == ext {
			nudge(c)
		}
	}
}

// nudge makes c, of capacity 1, receive.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
