package plugins

import (
	"context"
	"sync"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// keptGenerationsKey is where a context has its *keptGenerations.
type keptGenerationsKey struct{}

// keptGenerations are the generations that one piece of work has started on.
type keptGenerations struct {
	mu    sync.Mutex
	kept  []*generation // at most one of each plugin
	ended bool
}

// KeepGenerations returns a context under which all requests to one plugin go to the same
// generation of it: the one that serves the first of them. A reload in the meantime is
// not seen, except that a generation that was replaced and has used up its time, or that
// dies, gives way to the present one. The caller must call done, which lets the
// generations stop: later requests under the context go to the present one.
func (s *Supervisor) KeepGenerations(ctx context.Context) (kept context.Context, done func()) {
	p := &keptGenerations{}
	return context.WithValue(ctx, keptGenerationsKey{}, p), func() { p.release(true) }
}

// ReleaseGenerations releases the generations that ctx keeps so far. Call it before work
// under ctx waits for long, so that replaced generations can stop. The next requests take
// the generations that are present then. It does nothing for a context without
// [Supervisor.KeepGenerations].
func ReleaseGenerations(ctx context.Context) {
	if p, ok := ctx.Value(keptGenerationsKey{}).(*keptGenerations); ok {
		p.release(false)
	}
}

// acquire takes a lease on the generation that is kept. If no usable one is, it keeps the
// present generation from now on.
func (h *keptGenerations) acquire(p *supervised) (lease, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := -1
	for i, g := range h.kept {
		if g.of != p {
			continue
		}
		if l, err := g.acquire(); err == nil || !g.isRetired() {
			return l, err
		}
		at = i
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l, err := p.acquireCurrent()
	if err != nil || h.ended {
		return l, err
	}
	l.g.retain()
	if at < 0 {
		h.kept = append(h.kept, l.g)
	} else {
		h.kept[at].release()
		h.kept[at] = l.g
	}
	return l, nil
}

// release gives every generation back. With ended, no others are kept afterwards.
func (h *keptGenerations) release(ended bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.kept {
		g.release()
	}
	h.kept, h.ended = nil, h.ended || ended
}

// acquireCurrent takes a lease on the generation on duty. The caller holds mu.
func (p *supervised) acquireCurrent() (lease, error) {
	g := p.current()
	switch {
	case g != nil:
		return g.acquire()
	case p.loads.lastError != "":
		return lease{}, protocol.NewError(protocol.KindProcess, protocol.CodeDisabled, "plugin %s is disabled: %s", p.id, p.loads.lastError)
	}
	return lease{}, unknownPluginError(p.id)
}

// acquire takes a lease on the generation on duty, or on the one that ctx is
// pinned to.
func (p *supervised) acquire(ctx context.Context) (lease, error) {
	if pins, ok := ctx.Value(keptGenerationsKey{}).(*keptGenerations); ok {
		return pins.acquire(p)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acquireCurrent()
}
