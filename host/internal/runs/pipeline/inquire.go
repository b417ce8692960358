package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
)

// A tool can ask a person in the middle of its call. Either it returns the questions and
// is invoked again with the answers: then the call waits like one that needs an approval,
// in this process or the next. Or it asks while its call is held open: then the call
// cannot outlive this process, and nothing is known of its effect if it has to.

// Limits of what a tool may ask.
const (
	maxRounds      = 10       // returns with questions of one call
	maxResumeBytes = 64 << 10 // of what it gets back
)

// hadNoEffect notes that the invocation of the call has changed nothing, as its tool says.
// What an earlier host did, it does not know.
func (c *call) hadNoEffect(first bool) {
	c.invoked, c.resumption = false, nil
	if first {
		c.run.Calls.Costs.UnmarkDispatched(c.Entry)
	}
}

// inquire puts the questions with which a tool has returned to a person, and sends the
// call back to the stage that waits for the answers.
func (c *call) inquire(ctx context.Context, need *codemode.InputRequired) *fault.Rejection {
	if ctx.Err() != nil {
		return c.notMade(fault.NotDispatched())
	}
	if c.run.Calls.Questions.NextRound(c.Entry) > maxRounds {
		return c.notMade(fault.Reject(fault.CodeInputRounds, "The call of %q was given up: it asked for answers %d times, and asks again.", c.subject.ToolName, maxRounds))
	}
	a, err := c.newInquiry(need.Questions)
	if err == nil && len(need.State) > 0 && (len(need.State) > maxResumeBytes || !json.Valid(need.State)) {
		err = fmt.Errorf("its state is not JSON of at most %d bytes", maxResumeBytes)
	}
	if err != nil {
		return c.notMade(fault.Reject(fault.CodeInvalidQuestion, "%s", codemode.BoundMessage(fmt.Sprintf("The tool %q asks what no person can be asked: %v.", c.subject.ToolName, err))))
	}
	if err := c.put(a, need.State); err != nil {
		return c.notAsked(err)
	}
	c.consent.sentBack = true
	return nil
}

// newInquiry makes an approval of the questions of the call's tool. Who asks is the owner
// of the tool, whatever an owner from outside says.
func (c *call) newInquiry(questions []codemode.Question) (*policy.Approval, error) {
	questions = slices.Clone(questions)
	for i := range questions {
		if c.tool.Owner != catalog.OwnerCore || questions[i].From == "" {
			questions[i].From = c.tool.Owner
		}
	}
	return policy.NewInquiry(c.subject, questions, c.run.Env.QuestionTimeout, time.Now())
}

// heldQuestions are those that a tool asks while its call is held open, one at a time.
type heldQuestions struct {
	call *call

	one     sync.Mutex // held while a question is asked
	mu      sync.Mutex
	over    bool           // the tool has returned
	cancels []func()       // of the questions that are asked
	asking  sync.WaitGroup // questions that are asked
}

// errNotInCall means that a tool asks when its call is over.
var errNotInCall = errors.New("the call that asks is over")

// end cancels the questions that the tool has left behind.
func (h *heldQuestions) end() {
	h.mu.Lock()
	h.over = true
	for _, cancel := range h.cancels {
		cancel()
	}
	h.mu.Unlock()
	h.asking.Wait()
}

// enter counts one more question. Its context ends with the context of the call, or with the
// call itself.
func (h *heldQuestions) enter(call, ctx context.Context) (context.Context, func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return nil, nil, errNotInCall
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(call, func() { cancel(context.Cause(call)) })
	h.cancels = append(h.cancels, func() { cancel(errNotInCall) })
	h.asking.Add(1)
	return ctx, func() {
		stop()
		cancel(nil)
		h.asking.Done()
	}, nil
}

// ask is Invocation.Ask of a call.
func (h *heldQuestions) ask(call, ctx context.Context, q codemode.Question) (none codemode.QuestionAnswer, err error) {
	ctx, leave, err := h.enter(call, ctx)
	if err != nil {
		return none, err
	}
	defer leave()
	h.one.Lock()
	defer h.one.Unlock()
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	if q.Kind == codemode.QuestionAuthorization {
		return none, errors.New("a sign-in is not asked for while a call is held open")
	}
	a, err := h.call.newInquiry([]codemode.Question{q})
	if err != nil {
		return none, err
	}
	return h.call.hold(ctx, a)
}

// hold puts an approval with one question to a person while the call is held open.
func (c *call) hold(ctx context.Context, a *policy.Approval) (none codemode.QuestionAnswer, err error) {
	r, owner := c.run, quota.OwnerOf(c.run.Session)
	if d := r.Env.Meters.Approvals.Take(owner, 1); d != nil {
		r.Env.ReportDenied(r.Session, d)
		return none, d
	}
	defer r.Env.Meters.Approvals.Give(owner, 1)
	err = r.put(a,
		func(keep time.Time) { r.Calls.Questions.SetHeld(c.Entry, a.ID, 1, keep) },
		func() { r.Calls.Questions.SetHeld(c.Entry, "", -1, time.Time{}) })
	if err != nil {
		return none, err
	}
	Observer{r}.observeQuestion(c.Entry, a)
	decided, err := r.awaitDecision(ctx, a.ID)
	r.Calls.Questions.SetHeld(c.Entry, "", 0, time.Time{})
	if err != nil {
		r.Env.CancelApproval(r.Background(), a.ID)
		return none, err
	}
	Observer{r}.observeDecision(c.Entry, decided)
	if err := r.Record.Journal(r.Background()); err != nil {
		return none, err
	}
	switch {
	case decided.State == policy.StateAnswered && c.isSubjectOf(decided) && decided.CheckAnswers(decided.Answers) == nil:
		return decided.Answers[a.Questions[0].ID], nil
	case decided.State == policy.StateExpired:
		return none, errors.New("no one answered in time")
	}
	return none, errors.New("the question was cancelled")
}
