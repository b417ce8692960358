package plugins

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// doRestarted is do for a request that changes nothing: where the plugin is being
// restarted, it waits for the next process. The wait ends with ctx, and before its
// deadline, so that the caller still learns why there is no answer.
func (p *supervised) doRestarted(ctx context.Context, request func(l lease) error) error {
	limit := p.options.times.restartWait
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)*3/4)
	}
	var late <-chan time.Time
	for {
		changed := p.stateChange() // before the request: no change is missed
		err := p.do(ctx, request)
		if !restarting(err) || changed == nil {
			return err
		}
		if late == nil {
			due, stop := p.options.clock.After(limit)
			defer stop()
			late = due
		}
		select {
		case <-changed:
		case <-late:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// restarting reports whether a request met a plugin that comes back, or a dead
// one that has not been dealt with yet, and did not reach it.
func restarting(err error) bool {
	var e *protocol.Error
	return errors.As(err, &e) && (e.Code == protocol.CodeRestarting || e.Code == protocol.CodeCrashed && e.Effect == protocol.EffectNone)
}

// stateChange is closed at the next change of the generation on duty; nil if there
// is no such generation.
func (p *supervised) stateChange() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if g := p.current(); g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.changed
	}
	return nil
}
