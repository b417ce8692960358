package runs

import (
	"context"
	"strings"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
)

// storeAway is the failure of what needs the store, if it is known that the store takes no
// writes now. A store that is merely slow to answer tries for long before it fails, and the
// caller would hear of it late.
func (e *Engine) storeAway(ctx context.Context) *codemode.Error {
	if h, ok := e.StoreHealth(ctx); !ok || h.State.Works() {
		return nil
	}
	return fault.FromStore(runstore.ErrUnavailable)
}

// mayStart refuses a program that says itself that it will be suspended while the store
// takes no writes: it would make its effects first. Programs that do not say so may complete.
func (e *Engine) mayStart(ctx context.Context, p program) *codemode.Error {
	if !strings.Contains(p.Code, "yield_control") {
		return nil
	}
	f := e.storeAway(ctx)
	if f != nil {
		f = fault.Add(f, " This one was not started, because it has yield_control in it.")
	}
	return f
}
