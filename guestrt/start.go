package guestrt

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/quoinhq/quoin/internal/wire"
)

// NewPool finds the guest executable, proves that it works by starting one
// worker, and returns a pool that starts the others in the background. ctx
// bounds only this call. It fails with a *WorkerError of code runtime_unavailable.
// Its message names the missing layers if isolation is required and cannot be had.
func NewPool(ctx context.Context, c Config) (*Pool, error) {
	c = c.filled()
	if err := c.Isolation.check(); err != nil {
		return nil, err
	}
	if err := c.Engine.check(); err != nil {
		return nil, err
	}
	b, err := findBinary(c)
	if err != nil {
		return nil, err
	}
	p := &Pool{
		config: c, guest: b, spawn: newSpawner(),
		warm: newWarmPool(c.Prepared, c.MaxPrepared),
		kept: newSlots[sessionWorker](c.Prepared),
		live: map[*process]struct{}{},
	}
	p.launch = launchConfig{isolation: c.Isolation, groups: findGroups(), protocol: wire.Version}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	first, err := p.startFirst(ctx)
	if err != nil {
		if e := p.Close(); e != nil {
			c.Logger.Error("guest pool cannot be closed", "error", e)
		}
		return nil, err
	}
	p.layers, p.engine = first.ready.Layers, first.ready.EngineID
	p.returnUnused(first)
	p.refill()
	return p, nil
}

// startFirst starts the process that proves that workers work, without
// namespaces if they cannot be had.
func (p *Pool) startFirst(ctx context.Context) (*process, error) {
	first, err := p.startSpoken(ctx)
	if err == nil || ctx.Err() != nil || final(err) {
		return first, err
	}
	p.launch.noNamespaces = rootCause(err)
	first, plain := p.startSpoken(ctx)
	if plain != nil {
		if plain.Error() == err.Error() {
			return nil, err
		}
		return nil, unavailable("%s; with namespaces: %s", strings.TrimSuffix(plain.Error(), "."), err)
	}
	level := slog.LevelInfo // a host that takes any isolation reads it in the results
	if p.launch.isolation.required() {
		level = slog.LevelWarn
	}
	p.config.Logger.Log(ctx, level, "guest workers have no namespaces of their own", "error", err)
	return first, nil
}

// startSpoken starts a process by the newest version of the protocol that it speaks. Only
// a build that was asked for by its id may be an earlier one.
func (p *Pool) startSpoken(ctx context.Context) (first *process, err error) {
	p.launch.socket = p.config.BuildID != [32]byte{}
	for p.launch.protocol = wire.Version; ; p.launch.protocol-- {
		first, err = p.start(ctx)
		if err == nil || !p.launch.socket || !refused(err) || p.launch.protocol == wire.OldestVersion || ctx.Err() != nil {
			return first, err
		}
	}
}

// start starts a process and accounts for it until it is reaped.
func (p *Pool) start(ctx context.Context) (*process, error) {
	p.mu.Lock()
	if p.closed.Load() {
		p.mu.Unlock()
		return nil, errClosed
	}
	p.starting.Add(1)
	p.mu.Unlock()
	defer p.starting.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	child, err := startProcess(ctx, p.spawn, p.guest, &p.launch, p.config.Logger)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.live[child] = struct{}{}
	closed := p.closed.Load()
	p.mu.Unlock()
	p.counts.countStart()
	go func() {
		<-child.gone
		p.counts.countExit(child.exit)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.live, child)
	}()
	if closed {
		p.drop(child)
		return nil, errClosed
	}
	return child, nil
}

// startAgain starts a process, and another one if the first dies before it is
// ready: someone may have killed it, and no guest has run in it yet.
func (p *Pool) startAgain(ctx context.Context) (*process, error) {
	child, err := p.start(ctx)
	if err == nil || ctx.Err() != nil || errors.Is(err, errClosed) {
		return child, err
	}
	p.config.Logger.Warn("guest worker did not start; trying once more", "error", err)
	return p.start(ctx)
}
