package host

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/plugins"
)

// Approvals lists the calls that wait for a person, of every run in the store of
// approvals, or those that f chooses.
func (h *Host) Approvals(ctx context.Context, f policy.Filter) ([]*policy.Approval, error) {
	return policy.Select(ctx, h.approvals, f, time.Now())
}

// Decide enters what a person has decided about an approval; by says who, for the
// record. It returns the approval as it is then. The same decision again is no
// error. See policy.Decide for the errors.
//
// Whoever may call Decide may allow anything: who that is, is up to the embedder.
func (h *Host) Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error) {
	return policy.Decide(ctx, h.approvals, id, d, by, time.Now())
}

// Grants lists what was decided with allow-always and still answers, oldest first.
func (h *Host) Grants(ctx context.Context) ([]*policy.Grant, error) {
	return policy.LiveGrants(ctx, h.approvals, time.Now())
}

// RevokeGrant forgets an allow-always: the next call that it would have answered
// asks again. The error is policy.ErrNotFound if there is no such grant.
func (h *Host) RevokeGrant(ctx context.Context, id string) error { return h.approvals.Forget(ctx, id) }

// approve puts a call to a person, unless earlier decisions answer every request,
// and returns once it may be made.
func (r *run) approve(ctx context.Context, c *call, pc policy.Call, asks []policy.Ask) *callError {
	id, err := r.question(ctx, c, pc, asks)
	switch {
	case err != nil:
		return r.notAsked(pc, err)
	case id == "":
		return nil
	}
	return r.decided(ctx, c, pc, id)
}

// question puts a call to a person and returns the id of the approval; an empty
// one if earlier decisions answer every request.
func (r *run) question(ctx context.Context, c *call, pc policy.Call, asks []policy.Ask) (id string, err error) {
	asks, err = policy.Unanswered(ctx, r.h.approvals, pc, asks, time.Now())
	if err != nil || len(asks) == 0 {
		return "", err
	}
	if d := r.h.meters.approvals.Take(r.session.Owner(), 1); d != nil {
		r.h.ReportDenied(r.session, d)
		return "", d
	}
	c.asking = true
	defer func() {
		if id == "" { // it failed or panicked
			r.questionOver(c)
		}
	}()
	a, err := policy.NewApproval(pc, asks, time.Now())
	if err != nil {
		return "", err
	}
	if err := r.calls.mayAsk(time.Now(), r.settings.MaxApprovals); err != nil {
		return "", err
	}
	a.Store = r.h.storeID()
	if err := r.claimToAsk(); err != nil {
		return "", err
	}
	// The journal has it first: a question that belongs to no call would stay. It
	// counts from then on, so that a record has the call and the count, or neither.
	r.calls.questionAsked(c, a.ID, pc.Params)
	if err := r.record.journal(r.background()); err != nil {
		return "", err
	}
	if err := r.h.approvals.Add(r.background(), a); err != nil {
		r.calls.questionNotAsked(c)
		return "", err
	}
	if r.hasEnded() {
		r.h.cancelApproval(r.background(), a.ID)
	}
	r.approvalRequested(c, a.ID)
	r.h.announce(a)
	return a.ID, nil
}

// questionAsked notes that a person is asked about a call. It counts from now on, so
// that a record has the call and the count, or neither.
func (t *callTable) questionAsked(c *call, approval string, input []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counters.Approvals++
	t.setApproval(c, runstore.CallApproval, approval, input)
}

// questionNotAsked undoes questionAsked.
func (t *callTable) questionNotAsked(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counters.Approvals--
	t.setApproval(c, runstore.CallInFlight, "", nil)
}

// approved notes how the approval of a call came out.
func (t *callTable) approved(c *call, approval string, input []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.setApproval(c, runstore.CallInFlight, approval, input)
}

func (t *callTable) setApproval(c *call, state runstore.CallState, approval string, input []byte) {
	c.State, c.Approval, c.Input = state, approval, input
	t.reweigh(c)
	t.touch(c)
}

// announce tells the embedder of a new approval.
func (h *Host) announce(a *policy.Approval) {
	if h.cfg.OnApproval == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			h.ReportPanic(duringObserver, p, "approval", a.ID)
		}
	}()
	h.cfg.OnApproval(a)
}

// questionOver frees the place that a call has among the session's questions.
func (r *run) questionOver(c *call) {
	if c.asking {
		c.asking = false
		r.h.meters.approvals.Give(r.session.Owner(), 1)
	}
}

// notAsked rejects a call that nobody could be asked about.
func (r *run) notAsked(pc policy.Call, err error) *callError {
	var denied *quota.Denied
	if errors.As(err, &denied) {
		return notMade(rejectf(codeQuota, "The call of %q was not made: it needs an approval, and %v. Wait until some are decided.", pc.ToolName, denied), pc)
	}
	var often *askedTooOften
	if errors.As(err, &often) {
		return notMade(rejectf(codeQuota, "The call of %q was not made: %v.", pc.ToolName, err), pc)
	}
	r.h.log.Error("nobody could be asked for approval, so the call is denied", "run", r.id, "call", pc.CallID, "tool", pc.ToolID, "error", err)
	return notMade(rejectf(codeDenied, "The call of %q was denied: it needs an approval, and nobody could be asked.", pc.ToolName), pc)
}

// askedBefore returns the approval that a call waited for when its run was last
// stored. A host that died before the question was out asked nobody.
func (r *run) askedBefore(c *call) string {
	id := c.Approval // only the goroutine that performs the call changes it
	if id == "" {
		return ""
	}
	if _, err := r.h.approvals.Get(r.ctx, id); errors.Is(err, policy.ErrNotFound) {
		r.calls.approved(c, "", nil)
		return ""
	}
	return id
}

// decided waits until the approval of a call is resolved, and rejects the call
// unless it may be made.
func (r *run) decided(ctx context.Context, c *call, pc policy.Call, id string) *callError {
	defer r.questionOver(c)
	a, err := r.awaitDecision(ctx, id)
	switch {
	case errors.Is(err, errLostApproval):
		return notMade(rejectf(codeDenied, "The call of %q was denied: %v.", pc.ToolName, err), pc)
	case err != nil:
		if errors.Is(err, errCallCancelled) {
			r.h.cancelApproval(r.background(), id)
		}
		return notMade(rejectf(codeAborted, "The call of %q was given up before it was made.", pc.ToolName), pc)
	}
	r.approvalDecided(c, id, cmp.Or(string(a.Decision), string(a.State)), a.By)
	if a.State != policy.StateAllowed || !a.Covers(pc.RunID, pc.CallID, pc.ToolID, pc.Params) {
		return notMade(rejectf(codeDenied, "The call of %q was denied: %s.", pc.ToolName, whyDenied(a)), pc)
	}
	r.calls.approved(c, id, pc.Params)
	if err := r.record.journal(r.background()); err != nil { // a host that dies now must not be taken for one that has not called
		return notMade(rejectf(codeInterrupted, "The call of %q was not made: its run could not be recorded (%v).", pc.ToolName, err), pc)
	}
	return nil
}

func whyDenied(a *policy.Approval) string {
	switch a.State {
	case policy.StateDenied:
		return "a person decided so"
	case policy.StateExpired:
		return "nobody approved it in time"
	case policy.StateCancelled:
		return "its approval was cancelled"
	}
	return "it is not the call that was approved"
}

// awaitDecision waits for an approval to be resolved. Meanwhile nothing of the call
// goes on in this process, so that a host that closes does not wait for it, and
// the deadline of the run pauses.
func (r *run) awaitDecision(ctx context.Context, id string) (*policy.Approval, error) {
	r.h.calls.pause()
	r.calls.approvalStarts(time.Now())
	r.notify()
	plugins.ReleaseGenerations(ctx) // people take their time
	defer func() {
		r.calls.approvalEnds(time.Now())
		r.h.calls.resume()
		r.notify()
	}()
	return r.h.approvalWatcher.wait(ctx, id)
}

// approvalStarts notes that one more call waits for a person.
func (t *callTable) approvalStarts(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.onApproval++; t.onApproval == 1 {
		t.approvalSince = now
	}
}

// approvalEnds notes that one call less waits for a person.
func (t *callTable) approvalEnds(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.onApproval--; t.onApproval == 0 {
		t.counters.ApprovalMicros += now.Sub(t.approvalSince).Microseconds()
	}
}

// approvalWait is how long the run has waited for people until now. The caller holds mu.
func (t *callTable) approvalWait(now time.Time) time.Duration {
	d := time.Duration(t.counters.ApprovalMicros) * time.Microsecond
	if t.onApproval > 0 {
		d += now.Sub(t.approvalSince)
	}
	return d
}

// cancelApprovals ends the questions that calls wait for.
func (h *Host) cancelApprovals(ctx context.Context, calls []runstore.Call) {
	for _, c := range calls {
		if c.State == runstore.CallApproval {
			h.cancelApproval(ctx, c.Approval)
		}
	}
}

func (h *Host) cancelApproval(ctx context.Context, id string) {
	_, err := h.approvals.Resolve(ctx, id, policy.Resolution{State: policy.StateCancelled, At: time.Now()})
	if err != nil && !errors.Is(err, policy.ErrNotFound) {
		h.log.Error("the approval of a run that has ended was not cancelled; it expires", "approval", id, "error", err)
	}
}
