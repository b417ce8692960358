package host

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/policy"
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

// Approvals lists the calls that wait for a person, of every run in the store of
// approvals, or those that f chooses.
func (h *Host) Approvals(ctx context.Context, f policy.Filter) ([]*policy.Approval, error) {
	return policy.Select(ctx, h.cfg.Approvals.Store, f, time.Now())
}

// Decide enters what a person has decided about an approval; by says who, for the
// record. It returns the approval as it is then. The same decision again is no
// error. See policy.Decide for the errors.
//
// A caller of Decide may allow anything: the embedder decides who may call it.
func (h *Host) Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error) {
	a, err := policy.Decide(ctx, h.cfg.Approvals.Store, id, d, by, time.Now())
	return h.decided(ctx, a, err)
}

// decided resumes the run of an approval if no process has the run.
func (h *Host) decided(ctx context.Context, a *policy.Approval, err error) (*policy.Approval, error) {
	if err == nil {
		h.engine.Decided(ctx, a.RunID)
	}
	return a, err
}

// AllowEdited is Decide with allow-once for another input than the call's own. See
// policy.AllowEdited.
func (h *Host) AllowEdited(ctx context.Context, id string, input json.RawMessage, by string) (*policy.Approval, error) {
	a, err := policy.AllowEdited(ctx, h.cfg.Approvals.Store, id, input, by, time.Now())
	return h.decided(ctx, a, err)
}

// AnswerQuestion enters what a person has answered to the questions of an approval, by
// question id. See policy.Answer.
func (h *Host) AnswerQuestion(ctx context.Context, id string, answers map[string]QuestionAnswer, by string) (*policy.Approval, error) {
	a, err := policy.Answer(ctx, h.cfg.Approvals.Store, id, answers, by, time.Now())
	return h.decided(ctx, a, err)
}

// AnswerAuthorization accepts every pending question that asks to sign in to an MCP
// server, and returns how many there were. Owns chooses sessions; nil is all. See
// policy.AnswerAuthorization.
func (h *Host) AnswerAuthorization(ctx context.Context, server string, owns func(Session) bool, by string) (answered int, err error) {
	return policy.AnswerAuthorization(ctx, h.cfg.Approvals.Store, server, owns, by, time.Now())
}

// Grants lists what was decided with allow-always and still answers, oldest first.
func (h *Host) Grants(ctx context.Context) ([]*policy.Grant, error) {
	return policy.LiveGrants(ctx, h.cfg.Approvals.Store, time.Now())
}

// RevokeGrant forgets an allow-always: the next call that it would have answered
// asks again. The error is policy.ErrNotFound if there is no such grant.
func (h *Host) RevokeGrant(ctx context.Context, id string) error {
	return h.cfg.Approvals.Store.Forget(ctx, id)
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

// Runs lists the runs of a session that have not ended, oldest first: the runs of this process
// and the runs in its store. If s names no agent turn, it lists the runs of every turn. A run
// that another process drives is listed as the store knows it.
func (h *Host) Runs(ctx context.Context, s Session) ([]RunInfo, error) {
	return h.engine.Runs(ctx, s)
}

// UpgradeRuns replays suspended runs that another build of the guest has suspended on the
// build of this host, whether the host has the other build or not, and reports the outcome of
// each once it is known. It calls no tool. A run with a non-nil Err stays as it was. The end
// of ctx, or of the loop, ends it early, and what it has done stays. The error is not nil once
// at most, at the end: the runs cannot be listed, or ctx has ended. Any session's runs are
// upgraded: the embedder decides who may call it.
func (h *Host) UpgradeRuns(ctx context.Context, o UpgradeOptions) iter.Seq2[UpgradedRun, error] {
	return h.engine.Upgrade(ctx, o)
}

// AllRuns is Runs of every session.
func (h *Host) AllRuns(ctx context.Context) ([]RunInfo, error) {
	return h.engine.AllRuns(ctx)
}

// Run describes a run of any session that has not ended; RunInfo.Session says which session it
// belongs to. The error for a run that is not there is an *Error.
func (h *Host) Run(ctx context.Context, runID string) (RunInfo, error) {
	return h.engine.Run(ctx, runID)
}

// ReportPanic logs a panic as an error, with the stack of its goroutine, and counts it
// in the metric quoin_panics_total. The parameter during is the label of the metric:
// one of a few words for what was running. Call it with what recover has returned, in the
// deferred function that has called recover; args are further attributes of the log.
func (h *Host) ReportPanic(during string, recovered any, args ...any) {
	h.engine.ReportPanic(during, recovered, args...)
}

// ReportDenied counts that a session was not given something, and warns of it in the
// log.
func (h *Host) ReportDenied(s Session, d *quota.Denied) {
	h.engine.ReportDenied(s, d)
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
