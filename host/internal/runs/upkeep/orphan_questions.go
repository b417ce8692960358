package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// A run that was never suspended is in no store. If its host is killed while a person is
// asked about one of its calls, nothing but the question stays. So a run reserves its id in
// the store before it asks anyone, and the question says which store that is: a reservation
// ends with the process that holds it, and a question of a run that is neither stored nor
// reserved is an orphan.

// EndOrphans cancels the questions of runs that no host can continue.
func (e *Sweeper) EndOrphans(ctx context.Context) error {
	store, ok := e.Store.(runstore.Identified)
	if !ok {
		return nil
	}
	identity := store.Identity()
	list, err := e.ApprovalStore.List(ctx)
	if err != nil {
		return err
	}
	asked := make(map[string][]*policy.Approval)
	for _, a := range list {
		if a.State == policy.StatePending && a.Store == identity {
			asked[a.RunID] = append(asked[a.RunID], a)
		}
	}
	var errs []error
	for id, questions := range asked {
		errs = append(errs, e.endOrphan(ctx, store, id, questions))
	}
	return errors.Join(errs...)
}

// endOrphan cancels the questions of one run, unless someone has it or can.
func (e *Sweeper) endOrphan(ctx context.Context, store runstore.Identified, id string, questions []*policy.Approval) error {
	if e.Runs.ByID(id) != nil {
		return nil
	}
	if _, err := e.Store.Get(ctx, id); !errors.Is(err, runstore.ErrNotFound) {
		return nil // it is there: a claim, however short, would keep a wait from it
	}
	release, err := store.Reserve(ctx, id)
	if errors.Is(err, runstore.ErrClaimed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	if _, err := e.Store.Get(ctx, id); !errors.Is(err, runstore.ErrNotFound) {
		return nil // it has come, or the operator has to look at it
	}
	if questions, err = e.stillPending(ctx, questions); err != nil || len(questions) == 0 {
		return err
	}
	for _, a := range questions {
		got, err := e.ApprovalStore.Resolve(ctx, a.ID, policy.Resolution{State: policy.StateCancelled, At: time.Now()})
		if err != nil {
			return err
		}
		if got.State == policy.StateCancelled {
			e.Observer.Run(got.RunID, got.Session).ApprovalCancelled(observe.Approval{
				ID: got.ID, CallID: got.CallID, ToolID: got.ToolID, Decision: string(got.State),
			})
		}
	}
	e.Logger.Warn("the approvals of a run were cancelled, because its host has ended with it", "run", id, "approvals", len(questions))
	a := questions[0]
	e.ObserveDiscarded(&runstore.Record{ID: id, Session: a.Session}, fault.FromCause(codemode.ErrAborted))
	return nil
}

// stillPending are those questions that no other sweeper has ended since they were listed.
func (e *Sweeper) stillPending(ctx context.Context, questions []*policy.Approval) (pending []*policy.Approval, err error) {
	for _, a := range questions {
		now, err := e.ApprovalStore.Get(ctx, a.ID)
		switch {
		case errors.Is(err, policy.ErrNotFound):
		case err != nil:
			return nil, err
		case now.State == policy.StatePending:
			pending = append(pending, now)
		}
	}
	return pending, nil
}
