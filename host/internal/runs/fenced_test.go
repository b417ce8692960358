package runs

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/runstore"
)

// TestACallOfARunThatWasGivenUp is neither made nor rejected: the one that resumes the run
// finds out whether it was made before.
func TestACallOfARunThatWasGivenUp(t *testing.T) {
	t.Parallel()
	for _, lost := range []error{nil, errors.New("the store did not say")} {
		e := newTestEngine(t, &runstore.Memory{}, nil, catalog.Tool{Name: "echo", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
			t.Error("the call was made")
			return nil, nil
		}})
		r := newTestRun(t, e)
		owner := e.RecordOwner(r)
		owner.Lost = nil
		r.Record = journal.New(r.ID, e.Store, 0, e.Logger, r.Calls, owner)
		c := callOf(t, r, "echo")
		r.Record.GiveUp(runstore.ErrFenced)
		if next, _ := r.Perform(c, lost); len(next) != 0 || c.State == runstore.CallSettled || r.Calls.Status().Deliverable {
			t.Errorf("after %v the call has settled: %s", lost, c.Answer)
		}
	}
}
