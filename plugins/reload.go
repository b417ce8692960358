package plugins

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// reload replaces the installed generation by one of the folder as it is now.
// Who asks while a reload is under way gets one that starts after it. When ctx
// ends, the reload continues without a witness.
func (p *supervised) reload(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return stoppedError(p.id)
	}
	t := p.loads.queued
	if t == nil {
		t = &reloadRequest{done: make(chan struct{})}
		p.loads.queued = t
		p.loads.pending++
		p.work.Go(func() { p.runReload(t) })
	}
	p.mu.Unlock()
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func stoppedError(id string) error {
	return protocol.NewError(protocol.KindProcess, protocol.CodeStopped, "plugin %s is stopped", id)
}

// runReload carries out one reload.
func (p *supervised) runReload(t *reloadRequest) {
	defer close(t.done)
	p.change.Lock()
	defer p.change.Unlock()
	p.mu.Lock()
	p.loads.queued = nil
	first := p.installed == nil
	p.mu.Unlock()
	_, t.err = p.replace(p.life, p.findInstalled, false)
	if p.life.Err() == nil {
		p.reportReload(t.err, first)
	}
	p.mu.Lock()
	p.loads.pending--
	p.mu.Unlock()
}

// reportReload keeps and reports why a load failed; nil for one that did not. The first load
// of a plugin is no reload.
func (p *supervised) reportReload(err error, first bool) {
	said := ""
	if err != nil {
		said = reasonOf(err)
	}
	p.mu.Lock()
	news := p.loads.lastError != said
	p.loads.lastError = said
	before := p.installed
	p.mu.Unlock()
	switch {
	case err == nil && first:
		p.options.Logger.Info("plugin installed", "plugin", p.id)
	case err == nil:
		p.options.Logger.Info("plugin reloaded", "plugin", p.id)
	case before == nil || before.updateDisabledReason(said):
		p.options.Logger.Error(LogStartFailed, "plugin", p.id, "error", said)
	default:
		p.options.Logger.Error("plugin was not reloaded; the one before goes on", "plugin", p.id, "generation", before.number, "error", said)
	}
	if news {
		p.changed()
	}
}

// reasonOf is the reason in an error of a start, which names the plugin too.
func reasonOf(err error) string {
	var start *StartError
	if errors.As(err, &start) {
		err = start.Err
	}
	return err.Error()
}

// replace starts a generation, checks it and puts it in the place of the one
// before, which retires. On an error nothing has changed. The caller holds
// change. ctx bounds the start.
func (p *supervised) replace(ctx context.Context, source func() (Candidate, error), development bool) (*generation, error) {
	if err := p.awaitRetirements(ctx); err != nil {
		return nil, err
	}
	g := p.prepare(source, development)
	old, err := p.install(ctx, g)
	if err != nil {
		g.stop()
		return nil, err
	}
	p.changed()
	if old != nil {
		p.retire(old)
	}
	return g, nil
}

// install starts a generation and puts it into service. It returns the one that
// was there before.
func (p *supervised) install(ctx context.Context, g *generation) (old *generation, err error) {
	unbind := context.AfterFunc(ctx, g.stop)
	defer unbind()
	live, err := g.startProcess()
	if err != nil {
		return nil, err
	}
	if !unbind() { // ctx has ended
		return nil, errors.Join(context.Cause(ctx), live.Close())
	}
	g.duty = onDuty(live)
	err = p.accept(p, g.desc, func() { old = p.swapCurrent(g) })
	if err != nil {
		return nil, errors.Join(&StartError{PluginID: p.id, Refused: true, Err: err}, live.Close())
	}
	g.firstStartDone()
	go g.run(live)
	return old, nil
}

// swapCurrent is the one step in which a generation takes the place of another.
func (p *supervised) swapCurrent(g *generation) (old *generation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place := &p.installed
	if g.development {
		place = &p.override
	}
	old, *place = *place, g
	return old
}

// retire lets a generation that was replaced finish its calls, then stops it.
// gone is closed when nothing is left of it.
func (p *supervised) retire(g *generation) (gone <-chan struct{}) {
	done := make(chan struct{})
	p.mu.Lock()
	p.retiring = append(p.retiring, done)
	p.mu.Unlock()
	g.retire()
	p.work.Go(func() {
		defer close(done)
		p.awaitCalls(g)
		if err := g.close(); err != nil {
			p.options.Logger.Error("stopping a replaced plugin", "plugin", p.id, "generation", g.number, "error", err)
			p.noteClose(fmt.Errorf("generation %d: %w", g.number, err))
		}
	})
	return done
}

// awaitCalls waits until a retired generation has no calls, or its time is over.
func (p *supervised) awaitCalls(g *generation) {
	patience := p.options.RetireTimeout
	if g.development {
		patience = p.options.DrainTimeout // what hangs there is being debugged
	}
	late, cancel := p.options.clock.After(patience)
	defer cancel()
	select {
	case <-g.idle:
	case <-late:
		p.options.Logger.Warn("a replaced plugin is stopped before its calls have ended", "plugin", p.id, "generation", g.number)
	case <-p.life.Done():
	}
}

// awaitRetirements waits until fewer than maxRetired generations have calls to finish.
func (p *supervised) awaitRetirements(ctx context.Context) error {
	for {
		p.mu.Lock()
		p.retiring = slices.DeleteFunc(p.retiring, func(gone <-chan struct{}) bool {
			select {
			case <-gone:
				return true
			default:
				return false
			}
		})
		if len(p.retiring) < maxRetired {
			p.mu.Unlock()
			return nil
		}
		oldest := p.retiring[0]
		p.mu.Unlock()
		select {
		case <-oldest:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// prepare makes a generation that is not in service yet.
func (p *supervised) prepare(source func() (Candidate, error), development bool) *generation {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastNumber++
	return newGeneration(p, p.lastNumber, source, development)
}

// load starts the installed plugin and returns when the first start is decided.
func (p *supervised) load(ctx context.Context) {
	g := p.prepare(p.findInstalled, false)
	p.mu.Lock()
	p.installed = g
	p.mu.Unlock()
	g.start(ctx)
}

// findInstalled looks at the plugin's folder as it is now, and asks the gate.
func (p *supervised) findInstalled() (Candidate, error) {
	mark := inspectFolder(p.dir).fingerprint
	p.mu.Lock()
	p.loads.fingerprint = mark
	p.mu.Unlock()
	found := Find(p.dir)
	if p.options.bundled(p.id) == nil {
		found = p.options.Gate.admit(found)
	}
	return found, found.Err
}

// isInstalled reports whether something of the plugin directory is there, even if
// it could not be loaded.
func (p *supervised) isInstalled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.installed != nil || p.loads.lastError != ""
}

// close stops the plugin with all its generations and waits.
func (p *supervised) close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop()
	p.work.Wait()
	p.mu.Lock()
	generations := []*generation{p.override, p.installed}
	p.mu.Unlock()
	var closing sync.WaitGroup
	for _, g := range generations {
		if g != nil {
			closing.Go(func() { p.noteClose(g.close()) })
		}
	}
	closing.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closeErr
}
