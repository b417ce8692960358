package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/plugins"
)

// approve waits until a person has decided about a call that authorise has put to one, or
// has answered what its tool asks, and rejects the call unless it may be made.
func approve(ctx context.Context, c *call) *fault.Rejection {
	id := c.Approval
	if id == "" {
		return nil
	}
	r := c.run
	defer c.questionOver()
	plugins.ReleaseGenerations(ctx) // people take their time
	a, err := r.awaitDecision(ctx, id)
	switch {
	case errors.Is(err, errLostApproval):
		return c.notMade(fault.Reject(fault.CodeDenied, "The call of %q was denied: %v.", c.subject.ToolName, err))
	case err != nil:
		if errors.Is(err, calls.ErrCancelled) {
			r.Env.CancelApproval(r.Background(), id)
		}
		return c.notMade(fault.Reject(fault.CodeAborted, "The call of %q was given up before it was made.", c.subject.ToolName))
	}
	c.consent.decision = a
	take := c.takeDecision
	if len(a.Questions) > 0 {
		take = c.takeAnswers
	}
	if rejection := take(ctx, a); rejection != nil {
		return rejection
	}
	r.Calls.Questions.Approved(c.Entry, id, c.subject.Params)
	if err := r.Record.Journal(r.Background()); err != nil { // a host that dies now must not be taken for one that has not called
		if fault.MayBeWritten(err) {
			r.Record.GiveUp(err)
		}
		return c.notMade(fault.Reject(fault.CodeInterrupted, "The call of %q was not made: its run could not be recorded%s.", c.subject.ToolName, whyNotRecorded(err)))
	}
	return nil
}

// takeDecision has the call do what a person has decided.
func (c *call) takeDecision(ctx context.Context, a *policy.Approval) *fault.Rejection {
	if a.State != policy.StateAllowed || !c.isSubjectOf(a) {
		return c.notMade(fault.Reject(fault.CodeDenied, "The call of %q was denied: %s.", c.subject.ToolName, whyDenied(a)))
	}
	if len(a.EditedInput) == 0 {
		c.consent.approvals = a.MadeBy()
		return nil
	}
	return c.takeEdited(ctx, a)
}

// isSubjectOf reports whether an approval is about this call as it is now.
func (c *call) isSubjectOf(a *policy.Approval) bool {
	return a.Covers(c.subject.RunID, c.subject.CallID, c.subject.ToolID, c.subject.Params)
}

// takeEdited has the call be made with the input that a person has put in the place of
// its own. Hooks see it: they can block the call, and not change it any more. What they
// would ask, that person has answered.
func (c *call) takeEdited(ctx context.Context, a *policy.Approval) *fault.Rejection {
	c.input, c.subject.Params = a.EditedInput, a.EditedInput
	ruling := c.run.Env.Hooks().Before(ctx, c.subject, func(before, after json.RawMessage) (json.RawMessage, error) {
		if bytes.Equal(before, after) {
			return after, nil
		}
		return nil, errors.New("a person has edited the input, which can only be blocked")
	})
	if ruling.Block != nil {
		return c.blocked(ctx, ruling.Block)
	}
	c.consent.approvals = nil
	for _, ask := range ruling.Asks {
		c.consent.approvals = append(c.consent.approvals, catalog.Approval{Hook: ask.Hook, Subject: ask.Subject, ID: a.ID, Edited: true})
	}
	return nil
}

func whyDenied(a *policy.Approval) string {
	switch a.State {
	case policy.StateDenied:
		return "a person decided so"
	case policy.StateExpired:
		return "no one approved it in time"
	case policy.StateCancelled:
		return "its approval was cancelled"
	}
	return "it is not the call that was approved"
}

// awaitDecision waits for an approval to be resolved. Until then nothing of the call runs in
// this process, so that a host that closes does not wait for it.
func (r *Run) awaitDecision(ctx context.Context, id string) (*policy.Approval, error) {
	r.Env.Performing.Pause()
	r.Calls.Questions.ApprovalStarts(r.Env.Clock.Now())
	r.Notify()
	defer func() {
		r.Calls.Questions.ApprovalEnds(r.Env.Clock.Now())
		r.Env.Performing.Resume()
		r.Notify()
	}()
	return r.Env.ApprovalWatcher.wait(ctx, id)
}

// takeAnswers has the call continue with what a person has answered.
func (c *call) takeAnswers(_ context.Context, a *policy.Approval) *fault.Rejection {
	name := c.subject.ToolName
	switch {
	case a.State == policy.StateExpired:
		return c.notMade(fault.Reject(fault.CodeInputExpired, "The call of %q was given up: %s asked a person, and had no answer in time.", name, cmp.Or(a.Owner, name)))
	case a.State == policy.StateCancelled:
		return c.notMade(fault.Reject(fault.CodeInputCancelled, "The call of %q was given up: the question that it waited for was cancelled.", name))
	case a.State != policy.StateAnswered, !c.isSubjectOf(a), a.CheckAnswers(a.Answers) != nil:
		return c.notMade(fault.Reject(fault.CodeDenied, "The call of %q was denied: what was answered is not what it asked.", name))
	}
	for _, q := range a.Questions {
		if q.Kind == codemode.QuestionAuthorization && a.Answers[q.ID].Action != codemode.AnswerAccept {
			return c.notMade(fault.Reject(fault.CodeNotAuthorized, "The call of %q was not made: the sign-in to %s was declined.", name, cmp.Or(q.From, name)))
		}
	}
	c.resumption = &codemode.Resumption{State: c.Resume, Answers: a.Answers}
	return nil
}
