package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// ask puts a call to a person. It puts none if earlier decisions answer every request;
// else c.question is the approval.
func (c *call) ask(ctx context.Context, asks []policy.Ask) (err error) {
	r := c.run
	asks, err = policy.Unanswered(ctx, r.engine.approvals, c.subject, asks, time.Now())
	if err != nil || len(asks) == 0 {
		return err
	}
	if d := r.engine.meters.approvals.Take(quota.OwnerOf(r.session), 1); d != nil {
		r.engine.ReportDenied(r.session, d)
		return d
	}
	c.asking = true
	defer func() {
		if c.question == nil { // it failed or panicked
			c.questionOver()
		}
	}()
	a, err := policy.NewApproval(c.subject, asks, time.Now())
	if err != nil {
		return err
	}
	if err := r.calls.mayAsk(time.Now(), r.settings.MaxApprovals); err != nil {
		return err
	}
	a.Store = r.engine.storeID()
	if err := r.claimToAsk(); err != nil {
		return err
	}
	// The journal has it first: a question that belongs to no call would stay. It
	// counts from then on, so that a record has the call and the count, or neither.
	r.calls.questionAsked(c, a.ID, c.subject.Params)
	if err := r.record.journal(r.background()); err != nil {
		return err
	}
	if err := r.engine.approvals.Add(r.background(), a); err != nil {
		r.calls.questionNotAsked(c)
		return err
	}
	if r.hasEnded() {
		r.engine.cancelApproval(r.background(), a.ID)
	}
	c.question = a
	return nil
}

// notAsked rejects a call that no one could be asked about.
func (c *call) notAsked(err error) *callError {
	var denied *quota.Denied
	if errors.As(err, &denied) {
		return c.notMade(rejectf(codeQuota, "The call of %q was not made: it needs an approval, and %v. Wait until some are decided.", c.subject.ToolName, denied))
	}
	var often *askedTooOften
	if errors.As(err, &often) {
		return c.notMade(rejectf(codeQuota, "The call of %q was not made: %v.", c.subject.ToolName, err))
	}
	c.run.engine.log.Error("no one could be asked for approval, so the call is denied", "run", c.run.id, "call", c.subject.CallID, "tool", c.subject.ToolID, "error", err)
	return c.notMade(rejectf(codeDenied, "The call of %q was denied: it needs an approval, and no one could be asked.", c.subject.ToolName))
}

// questionOver frees the place that a call has among the session's questions.
func (c *call) questionOver() {
	if c.asking {
		c.asking = false
		c.run.engine.meters.approvals.Give(quota.OwnerOf(c.run.session), 1)
	}
}

// How often a run may ask people: a person who is asked without end does not read
// what is asked.
const (
	questionSpan   = 10 * time.Second
	questionsASpan = 40
)

// askedTooOften denies a call because of the questions that its run has asked.
type askedTooOften struct {
	limit int64
	span  time.Duration // 0: the whole run
}

func (e *askedTooOften) Error() string {
	if e.span > 0 {
		return fmt.Sprintf("it needs an approval, and its run has asked for %d within %v, which is the limit; wait before you ask again", e.limit, e.span)
	}
	return fmt.Sprintf("it needs an approval, and its run has asked for %d, which is the limit (tools.codeMode.maxApprovals)", e.limit)
}

// mayAsk accounts for one more question of the run.
func (t *callTable) mayAsk(now time.Time, limit int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int64(t.counters.Approvals) >= limit {
		return &askedTooOften{limit: limit}
	}
	recent := t.questions[:0]
	for _, at := range t.questions {
		if now.Sub(at) < questionSpan {
			recent = append(recent, at)
		}
	}
	if t.questions = recent; len(recent) >= questionsASpan {
		return &askedTooOften{limit: questionsASpan, span: questionSpan}
	}
	t.questions = append(recent, now)
	return nil
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
