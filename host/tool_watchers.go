package host

import "sync"

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
