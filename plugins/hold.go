package plugins

import (
	"context"
	"sync"
)

// pinsKey is where a context keeps its *pins.
type pinsKey struct{}

// pins are the generations that one piece of work has begun on.
type pins struct {
	mu    sync.Mutex
	held  []*generation // at most one of each plugin
	ended bool
}

// Hold returns a context under which all requests to one plugin go to the same
// generation of it: the one that serves the first of them. A reload meanwhile is
// not seen, except that a generation that was replaced and has used up its time,
// or that dies, gives way to the present one. done ends the hold, and must be
// called; requests under the context then go to whatever is there.
func (s *Supervisor) Hold(ctx context.Context) (held context.Context, done func()) {
	p := &pins{}
	return context.WithValue(ctx, pinsKey{}, p), func() { p.release(true) }
}

// LetGo gives back what a hold has so far: work under ctx is about to wait for
// something that takes its time. The next requests take what is there then. It
// does nothing without a hold.
func LetGo(ctx context.Context) {
	if p, ok := ctx.Value(pinsKey{}).(*pins); ok {
		p.release(false)
	}
}

// enter takes a lease on the generation that is held, and begins to hold the one
// on duty if that one is not there or is of no more use.
func (h *pins) enter(p *supervised) (lease, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := -1
	for i, g := range h.held {
		if g.of != p {
			continue
		}
		if l, err := g.enter(); err == nil || !g.isRetired() {
			return l, err
		}
		at = i
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l, err := p.enterPresent()
	if err != nil || h.ended {
		return l, err
	}
	l.g.hold()
	if at < 0 {
		h.held = append(h.held, l.g)
	} else {
		h.held[at].leave()
		h.held[at] = l.g
	}
	return l, nil
}

// release gives every generation back, for good if so said.
func (h *pins) release(ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.held {
		g.leave()
	}
	h.held, h.ended = nil, h.ended || ended
}
