package runs

import (
	"context"

	"github.com/quoinhq/quoin/host/runstore"
)

// storeAway is the failure of what needs the store, if it is known that the store takes no
// writes now. A store that is merely slow to answer tries for long before it fails, and the
// caller would hear of it late.
func (e *Engine) storeAway(ctx context.Context) *failure {
	if h, ok := e.StoreHealth(ctx); !ok || h.State.Works() {
		return nil
	}
	return failureFromStore(runstore.ErrUnavailable)
}
