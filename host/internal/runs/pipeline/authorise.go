package pipeline

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/policy"
)

// authorise shows a call to the hooks, which may change its input, block it, or want a
// person to decide. A call that waited for a person when its run was last stored is not
// shown again.
func authorise(ctx context.Context, c *call) *fault.Rejection {
	r := c.run
	if c.askedBefore() {
		c.input, c.subject.Params = c.Input, c.Input
		return c.findJudged(ctx)
	}
	chain := r.Env.Hooks()
	if chain.Len() == 0 {
		return nil
	}
	asks, rejection := c.judgeSaved(ctx, chain)
	if rejection != nil {
		return rejection
	}
	ruling := chain.Before(ctx, c.subject, func(_, after json.RawMessage) (json.RawMessage, error) {
		if e := r.checkInput(c.tool, after); e != nil {
			return nil, e
		}
		return after, nil
	})
	if ruling.Block != nil {
		return c.blocked(ctx, ruling.Block)
	}
	c.input, c.subject.Params = ruling.Params, ruling.Params
	asks = append(asks, ruling.Asks...)
	if len(asks) == 0 {
		return nil
	}
	if c.saved != nil {
		asks = c.aboutSaved(asks)
	}
	if err := c.ask(ctx, asks); err != nil {
		return c.notAsked(err)
	}
	return nil
}

// askedBefore reports whether the call waited for a person when its run was last stored.
// A host that was killed before the question was out has asked no one.
func (c *call) askedBefore() bool {
	if c.Approval == "" {
		return false
	}
	if _, err := c.run.Env.ApprovalStore.Get(c.run.Context, c.Approval); errors.Is(err, policy.ErrNotFound) {
		c.run.Calls.Questions.NotAsked(c.Entry, false)
		return false
	}
	return true
}
