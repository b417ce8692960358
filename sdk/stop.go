package sdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// OnDrain adds a function to run once when the plugin is about to stop: no new
// calls come any more, and running calls may finish. It is the place to end what
// keeps calls waiting, such as a long poll, and what works in the background. The
// functions run at the same time as each other and as the calls; the plugin closes
// when all of them and all calls have ended, or the host waits no longer. The host
// and its storage are still there, unless it is the host that has gone.
func (p *Plugin) OnDrain(f DrainFunc) { p.onDrain = append(p.onDrain, f) }

// OnClose adds a function to run once when the plugin stops: after the drain, or
// when the host has gone. Functions run in reverse order, all of them, whatever
// they return. They do not run when the process is killed.
func (p *Plugin) OnClose(f func() error) { p.onClose = append(p.onClose, f) }

// Close runs the OnClose functions, once; later calls return the first result.
// [Serve] does it, so only code that serves a plugin some other way needs to.
func (p *Plugin) Close() error {
	p.closing.Do(func() {
		var errs []error
		for i := len(p.onClose) - 1; i >= 0; i-- {
			errs = append(errs, p.onClose[i]())
		}
		p.closed = errors.Join(errs...)
	})
	return p.closed
}

// drain refuses new calls, runs the OnDrain functions and waits for both until
// shortly before ctx ends. It returns how many calls are left.
func (p *Plugin) drain(ctx context.Context) int {
	ctx, cancel := shortly(ctx)
	defer cancel()
	p.calls.close()
	p.draining.Do(func() {
		p.drained = make(chan struct{})
		var all sync.WaitGroup
		for _, f := range p.onDrain {
			all.Go(func() { p.tellDrain(ctx, f) })
		}
		go func() {
			all.Wait()
			close(p.drained)
		}()
	})
	select {
	case <-p.drained:
	case <-ctx.Done():
	}
	return p.calls.wait(ctx)
}

// tellDrain runs one function. A panic of it must not take the calls along that
// are about to end.
func (p *Plugin) tellDrain(ctx context.Context, f DrainFunc) {
	defer func() {
		if v := recover(); v != nil {
			p.logger.Error("panic in OnDrain", "panic", fmt.Sprint(v), "stack", stack())
		}
	}()
	f(ctx)
}

// shortly is ctx with a deadline a little earlier, if it has one, so that an answer
// still reaches the host.
func shortly(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-drainMargin))
	}
	return context.WithCancel(ctx)
}

// shutDown drains the plugin within closeGrace and closes it.
func shutDown(p *Plugin) {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if left := p.drain(ctx); left > 0 {
		p.logger.Warn("stopping while calls are running", slog.Int("calls", left))
	}
	if err := p.Close(); err != nil {
		p.logger.Error("closing the plugin", "error", err)
	}
}

// closeGrace is how long calls may run after the host has gone.
const closeGrace = 2 * time.Second
