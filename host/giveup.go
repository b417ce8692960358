package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// A guest gives calls up with an AbortSignal. Its promises reject at once; the
// calls stay pending until their tools, whose contexts end, have returned.

// errGivenUp is the cause of the end of a given up call's context.
var errGivenUp = errors.New("the program gave the call up")

// givenUpIDs reads the ids of the calls that a cancel request names.
func givenUpIDs(q wire.Request) (ids []uint64, err error) {
	err = json.Unmarshal(q.Args, &ids)
	return ids, err
}

// giveUp ends the contexts of calls. Calls that have been answered, or that never
// were, are left out. The journal has it too: a call that was given up in the
// queue must not be made by the next host. The caller holds mu.
func (r *run) giveUp(ids []uint64) {
	for _, id := range ids {
		c := r.calls[id]
		if c == nil || c.GivenUp || c.State == runstore.CallSettled {
			continue
		}
		c.GivenUp = true
		r.touch(c)
		if stop := r.stops[id]; stop != nil {
			stop(errGivenUp)
		}
	}
}

// callContext is the context of one call, which ends with the run, when the
// guest gives the call up, or with done.
func (r *run) callContext(c *call) (ctx context.Context, done func()) {
	ctx, stop := context.WithCancelCause(r.ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.GivenUp {
		stop(errGivenUp)
	}
	if r.stops == nil {
		r.stops = make(map[uint64]context.CancelCauseFunc)
	}
	r.stops[c.ID] = stop
	return ctx, func() {
		stop(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.stops, c.ID)
	}
}

// notDispatched rejects a call that was given up before its tool was called.
func notDispatched() *callError {
	return rejectf(codeAborted, "The call was given up before it was made.")
}
