package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/drive"
)

// Wait resumes a suspended run. It returns like Exec, as soon as something has changed for the
// model; the run id stays the same for the whole run. A run belongs to its Session, and only
// one Wait at a time may have it.
func (h *Host) Wait(ctx context.Context, s Session, runID string) *Result {
	return h.WaitFor(ctx, s, runID, 0)
}

// WaitFor is Wait for a caller that is willing to wait for so long, at most
// Settings.Wait, which zero stands for. What has settled is delivered to the program
// however short the time is.
func (h *Host) WaitFor(ctx context.Context, s Session, runID string, wait time.Duration) *Result {
	return h.engine.Wait(ctx, s, runID, wait)
}

// Answer gives a run the result of a call of a tool that its caller brought
// without Invoke. Such calls are in PendingToolCalls of a waiting Result, with
// their inputs; Wait resumes the run once one of them is answered. Only the session of the run
// may answer.
//
// The first answer to a call counts. Answering again changes nothing and is no
// error as long as the run exists. A run that survived its host can be answered
// in the next one. What is wrong with an answer is an *Error.
func (h *Host) Answer(ctx context.Context, s Session, runID, callID string, a ToolAnswer) error {
	return h.engine.Answer(ctx, s, runID, callID, a)
}

// PendingInput returns the input of a call that the run's caller is to answer, such as
// one that a waiting Result has left out because it is large. Only the session of the
// run may ask. The error is an *Error.
func (h *Host) PendingInput(ctx context.Context, s Session, runID, callID string) (json.RawMessage, error) {
	return h.engine.PendingInput(ctx, s, runID, callID)
}

// Exec runs a program until it returns, fails, yields, or a person has been asked
// something for 10 s. It returns before if the program is still waiting for tools when
// the time of the caller is over: ExecInput.Wait, or shortly before a deadline of ctx. It
// always returns a Result. When ctx is cancelled, the program stops and the result has
// the code aborted.
func (h *Host) Exec(ctx context.Context, s Session, in ExecInput) *Result {
	return h.engine.Exec(ctx, s, in.forEngine())
}

// Abort ends a run of the session: an Exec or Wait that is driving it returns
// with the code aborted, its tool calls are cancelled, and a suspended one is
// forgotten. The result is what a Wait of the aborted run returns, or says why there is
// nothing to abort. Abort returns once the run is gone, or when ctx ends.
func (h *Host) Abort(ctx context.Context, s Session, runID string) *Result {
	return h.engine.Abort(ctx, s, runID)
}

// EndSession ends every run of a session, in this process and in the store, as
// Abort does, and returns how many there were. If s names no agent turn, the runs of every
// turn end. It returns once they are gone, or when ctx ends. An error says which could not be
// ended, such as one that another process is driving.
func (h *Host) EndSession(ctx context.Context, s Session) (ended int, err error) {
	return h.engine.EndSession(ctx, s)
}

// Deliver is WaitFor for a caller who may fail to pass the Result on, such as a server.
// When ctx ends, the run is suspended, as when the caller's time is over. What its program
// has put out is then left to the next result, unless ctx ended by a deadline.
// The store keeps the result of a run that has ended until Done: a later wait, of this
// process or another, gets it again. It keeps it for Settings.SnapshotTTL, or
// until the run would have expired if that is later, and no more results than the store has room for: a directory has runstore.MaxEnded, of
// runstore.MaxEndedBytes.
func (h *Host) Deliver(ctx context.Context, s Session, runID string, wait time.Duration) *Delivery {
	d := h.engine.Deliver(ctx, s, runID, wait)
	return &Delivery{Result: d.Result, delivery: d}
}

// Delivery is the Result of a Deliver on its way to who asked for it. Its methods are
// safe for concurrent use and may be called again.
type Delivery struct {
	Result *Result

	delivery *drive.Delivery
}

// Done says that the result has arrived: the store forgets it.
func (d *Delivery) Done() { d.delivery.Done() }

// Release says that the result has not arrived: any process may deliver it. It reports
// whether the store has it.
func (d *Delivery) Release() (stored bool) { return d.delivery.Release() }
