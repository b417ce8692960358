package plugins

import (
	"context"
	"fmt"
)

// setOverride puts a development plugin in the place of the installed one.
func (p *supervised) setOverride(ctx context.Context, f Candidate) (*generation, error) {
	if f.Err == nil && f.Manifest.ID != p.id {
		return nil, &StartError{PluginID: p.id, Refused: true,
			Err: fmt.Errorf("%s is plugin %q and cannot stand in for %q", f.Dir, f.Manifest.ID, p.id)}
	}
	f.Manifest.SHA256, f.Pin = nil, nil // its developer vouches for it
	if !p.startWork() {
		return nil, stoppedError(p.id)
	}
	defer p.work.Done()
	p.change.Lock()
	defer p.change.Unlock()
	alive, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	unbind := context.AfterFunc(p.life, func() { cancel(stoppedError(p.id)) })
	defer unbind()
	g, err := p.replace(alive, func() (Candidate, error) { return f, f.Err }, true)
	if err != nil {
		return nil, err
	}
	p.options.Logger.Info("a development plugin has taken over", "plugin", p.id, "dir", f.Dir, "generation", g.number)
	return g, nil
}

// dropOverride is the one step in which the installed generation comes back. gone
// is closed when nothing is left of the development plugin. It changes nothing if
// that was replaced by another.
func (p *supervised) dropOverride(g *generation) (gone <-chan struct{}) {
	if !p.startWork() {
		return g.stopped
	}
	defer p.work.Done()
	p.mu.Lock()
	current := p.override == g
	if current {
		p.override = nil
	}
	p.mu.Unlock()
	if !current {
		done := make(chan struct{})
		close(done)
		return done
	}
	p.options.Logger.Info("a development plugin has gone", "plugin", p.id, "generation", g.number)
	p.changed()
	return p.retire(g)
}
