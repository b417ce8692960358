package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/terminal"
	"github.com/quoinhq/quoin/internal/text"
)

// perform answers a call: with a result of start or, if the call brings answers, of the
// run that has waited for them. What then waits for a person is put to the caller.
func (c *toolCall) perform(ctx context.Context, start func(context.Context) *host.Result) (*mcp.CallToolResult, error) {
	ctx = traced(ctx, c.req.Params.Meta)
	var st requestState
	if c.req.Params.RequestState != "" {
		var err error
		if st, err = c.server.openState(c.req.Params.RequestState, c.caller, c.digest(), time.Now()); err != nil {
			return nil, invalidParams(err)
		}
		c.runID, c.round = st.RunID, st.Round
	}
	ctx, stop := c.reportProgress(ctx, c.runID)
	defer stop()
	res, err := c.first(ctx, st, start)
	for err == nil {
		var waiting []*policy.Approval
		if waiting, err = c.waitsFor(ctx, res); err != nil {
			return nil, err
		}
		requests, ids := c.requests(waiting)
		if len(requests) == 0 || c.round >= maxRounds {
			return c.result(res, waiting)
		}
		c.round++
		st = requestState{Caller: identity(c.caller), Call: c.digest(), RunID: res.RunID, Approvals: ids, Round: c.round, Expires: expiry(waiting)}
		if c.stateless {
			return c.inputRequired(st, requests)
		}
		answers, refused := c.elicit(ctx, requests)
		if refused != nil {
			return c.unanswered(ctx, res, waiting, refused)
		}
		c.wrong = ""
		next, failed := c.goOn(ctx, st, answers)
		if failed != nil && c.wrong == "" {
			return nil, invalidParams(failed)
		}
		if failed == nil {
			res = next
		}
	}
	return nil, invalidParams(err)
}

// first returns the first result of a call: of start, or of the run of a state.
func (c *toolCall) first(ctx context.Context, st requestState, start func(context.Context) *host.Result) (*host.Result, error) {
	if st.RunID != "" {
		return c.goOn(ctx, st, c.req.Params.InputResponses)
	}
	asking := ctx
	if c.can.any() || slotOf(ctx) != nil {
		asking = host.WithAskingCaller(ctx)
	}
	res := start(asking)
	if c.becomeTask(ctx, res) {
		c.can = elicitation{} // the task asks
		return res, nil
	}
	return c.last(asking, res), nil
}

// last returns the result that a patient call has waited for.
func (c *toolCall) last(ctx context.Context, res *host.Result) *host.Result {
	for c.patient && res.Status == host.StatusWaiting && res.Reason == codemode.ReasonPendingTools && ctx.Err() == nil {
		res = c.goesOn(ctx, res.RunID)
	}
	return res
}

// unanswered returns the result of a call when its client was asked and has not answered. A
// run is of no more use once its client has gone.
func (c *toolCall) unanswered(ctx context.Context, res *host.Result, waiting []*policy.Approval, why error) (*mcp.CallToolResult, error) {
	if ctx.Err() != nil {
		res, waiting = c.server.host.Abort(context.WithoutCancel(ctx), c.caller, res.RunID), nil
	} else {
		c.server.options.Logger.Warn("an MCP client did not answer what it was asked", "run", res.RunID, "error", why)
	}
	return c.result(res, waiting)
}

func (c *toolCall) digest() string {
	return callDigest(c.req.Params.Name, c.req.Params.Arguments)
}

// waitsFor returns the approvals that the run of a result waits for.
func (c *toolCall) waitsFor(ctx context.Context, res *host.Result) ([]*policy.Approval, error) {
	if res.Status != host.StatusWaiting {
		return nil, nil
	}
	return c.approvals(ctx, res.RunID, false)
}

// expiry is when the first of the approvals is over.
func expiry(waiting []*policy.Approval) time.Time {
	first := time.Now().Add(maxStateHours * time.Hour)
	for _, a := range waiting {
		if a.Expires.Before(first) {
			first = a.Expires
		}
	}
	return first
}

// inputRequired asks a client of the stateless era.
func (c *toolCall) inputRequired(st requestState, requests mcp.InputRequestMap) (*mcp.CallToolResult, error) {
	sealed, err := c.server.sealState(st)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{}, InputRequests: requests, RequestState: sealed}, nil
}

// elicit asks a client of the older era, one request after the other, until the first
// of what it asks about is over.
func (c *toolCall) elicit(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	answers := make(mcp.InputResponseMap, len(requests))
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		given := &givenAnswer{}
		answer, err := c.req.Session.Elicit(context.WithValue(ctx, givenKey{}, given), requests[key].(*mcp.ElicitParams))
		switch {
		case err == nil:
			answers[key] = answer
		case given.result != nil: // it does not fit, as the host says better
			answers[key] = given.result
		default:
			return nil, err
		}
	}
	return answers, nil
}

// goOn enters answers and continues the run that has waited for them.
func (c *toolCall) goOn(ctx context.Context, st requestState, answers mcp.InputResponseMap) (*host.Result, error) {
	list, err := c.approvals(ctx, st.RunID, true)
	if err != nil {
		return nil, err
	}
	asking := host.WithAskingCaller(ctx)
	for _, id := range st.Approvals {
		i := slices.IndexFunc(list, func(a *policy.Approval) bool { return a.ID == id })
		if i < 0 {
			return nil, fmt.Errorf("approval %s is gone: its run %s has ended", id, st.RunID)
		}
		outcome, err := c.enter(ctx, list[i], answers)
		switch {
		case !c.stateless && errors.Is(err, policy.ErrDecided): // another was first, while the client asked
			outcome = answered
		case !c.stateless && doesNotFit(err):
			c.wrong = terminal.Line(text.Shorten(err.Error(), maxToldText))
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("approval %s: %w. The run is %s: wait goes on with it", id, err, st.RunID)
		case outcome == signingIn:
			asking = ctx // the token arrives while the run waits for it
		}
		if outcome == putOff || outcome == signingIn {
			c.can = elicitation{} // not to be asked the same again at once
		}
	}
	ctx = asking
	return c.last(ctx, c.goesOn(ctx, st.RunID)), nil
}

// entered enters what a client has answered about an approval.
func (c *toolCall) entered(ctx context.Context, a *policy.Approval, answers mcp.InputResponseMap) (outcome, error) {
	if len(a.Questions) == 0 {
		return c.decide(ctx, a, answers)
	}
	given := make(map[string]codemode.QuestionAnswer, len(a.Questions))
	for i, q := range a.Questions {
		r, ok := answers[questionKey(a, i)].(*mcp.ElicitResult)
		if !ok {
			return unanswered, nil
		}
		answer, err := answerOf(r)
		if err != nil {
			return 0, err
		}
		if q.Kind == codemode.QuestionAuthorization && a.State == policy.StatePending {
			switch answer.Action {
			case codemode.AnswerAccept:
				return signingIn, nil
			case codemode.AnswerCancel:
				return putOff, nil
			}
		}
		given[q.ID] = answer
	}
	_, err := c.server.host.Approvals().Answer(ctx, a.ID, given, c.by())
	return answered, c.notEntered(a, err)
}

// refusals are why an answer is not entered that the client is told. Others are of the store.
var refusals = []error{policy.ErrNotFound, policy.ErrDecided, policy.ErrExpired, policy.ErrCancelled, policy.ErrNotAllowed, policy.ErrInvalidAnswer}

// notEntered is what the client is told of an answer that was not entered.
func (c *toolCall) notEntered(a *policy.Approval, err error) error {
	if err == nil || slices.ContainsFunc(refusals, func(r error) bool { return errors.Is(err, r) }) {
		return err
	}
	return c.server.storeFailed(a.RunID, err)
}

// decide enters a decision about a call.
func (c *toolCall) decide(ctx context.Context, a *policy.Approval, answers mcp.InputResponseMap) (outcome, error) {
	r, ok := answers[a.ID].(*mcp.ElicitResult)
	switch {
	case !ok:
		return unanswered, nil
	case r.Action == string(codemode.AnswerCancel):
		return putOff, nil
	}
	d, input, err := decisionOf(r)
	if err != nil {
		return 0, err
	}
	if input != nil {
		_, err = c.server.host.Approvals().AllowEdited(ctx, a.ID, input, c.by())
	} else {
		_, err = c.server.host.Approvals().Decide(ctx, a.ID, d, c.by())
	}
	return answered, c.notEntered(a, err)
}

// by names the client for the record.
func (c *toolCall) by() string {
	if info := c.req.ClientInfo(); info != nil && info.Name != "" {
		return "MCP client " + info.Name
	}
	return "MCP client"
}

// enter enters what a client has answered about an approval. After a few answers that do not
// fit, the client has declined.
func (c *toolCall) enter(ctx context.Context, a *policy.Approval, answers mcp.InputResponseMap) (outcome, error) {
	out, err := c.entered(ctx, a, answers)
	n := c.server.wrong.count(a.ID, !doesNotFit(err))
	if !doesNotFit(err) {
		return out, err
	}
	c.server.options.Logger.Warn("an MCP client has answered what does not fit the question", "approval", a.ID, "run", a.RunID, "tool", a.ToolID, "times", n, "declined", n >= maxWrongAnswers)
	if n < maxWrongAnswers {
		return out, err
	}
	no := mcp.InputResponseMap{a.ID: &mcp.ElicitResult{Action: string(codemode.AnswerDecline)}}
	for i := range a.Questions {
		no[questionKey(a, i)] = no[a.ID]
	}
	return c.entered(ctx, a, no)
}
