package pipeline

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
)

// ask waits until the run's caller has answered a call. Until then nothing of it runs in
// this process, so a host that closes does not wait for it.
func (r *Run) ask(ctx context.Context, c *call) (json.RawMessage, error) {
	answer, d := r.Calls.Questions.AskClient(c.Entry, c.input, r.Env.Clock.Now())
	if d != nil {
		e := fault.Reject(fault.CodeQuota, "The call was not made: %v.", d)
		e.ToolID, e.EffectStatus = c.Tool, fault.EffectNone
		return nil, e
	}
	r.Env.Performing.Pause()
	defer func() {
		r.Env.Performing.Resume()
		r.Calls.Questions.ClientAnswered()
	}()
	if err := r.Record.Journal(r.Background()); err != nil {
		return nil, err
	}
	r.Notify()
	select {
	case answer := <-answer:
		if answer.Error != "" {
			return nil, errors.New(answer.Error)
		}
		return answer.Value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// AsksClient reports whether a call is one of a tool that the client answers. The
// caller holds calls.mu.
func (r *Run) AsksClient(c *calls.Entry) bool {
	if c.Method != calls.MethodOfAsked {
		return false
	}
	if c.Tool != "" {
		return r.Access.Client.Asks(c.Tool)
	}
	tool, err := r.View().Catalog.Resolve(c.Target)
	return err == nil && r.Access.Client.Asks(tool.ID())
}
