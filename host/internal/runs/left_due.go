package runs

import (
	"context"
)

// LeftDue tells all hosts of the store about a run that can continue and that this one is
// about to release. While the claim is held, the store has it taken over if this host dies.
func (v *reviver) LeftDue(id string) {
	if v.Scheduler() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), v.Times.WakeTimeout)
	defer cancel()
	if last := v.lastWakes.Load(); last != nil {
		ctx = *last
	}
	if err := v.Scheduler().Wake(ctx, id); err != nil {
		v.Logger.Error("other hosts were not told that a run can go on; a wait finds out", "run", id, "error", err)
	}
}

// Decided resumes a run that no process has, once a person has decided about a call of it.
func (v *reviver) Decided(ctx context.Context, runID string) {
	if v.Scheduler() == nil || v.ByID(runID) != nil {
		return
	}
	if err := v.Scheduler().Wake(context.WithoutCancel(ctx), runID); err != nil {
		v.Logger.Error("the host of a run was not told of a decision; it finds out by itself", "run", runID, "error", err)
	}
}
