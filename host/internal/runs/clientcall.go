package runs

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/quoinhq/quoin/host/internal/runs/fault"
)

// ask waits until the run's caller has answered a call. Meanwhile nothing of it
// goes on in this process, so a host that closes does not wait for it.
func (r *run) ask(ctx context.Context, c *call) (json.RawMessage, error) {
	answer, d := r.calls.AskClient(c.Entry, c.input, r.engine.clock.Now())
	if d != nil {
		e := fault.Reject(fault.CodeQuota, "The call was not made: %v.", d)
		e.ToolID, e.EffectStatus = c.Tool, fault.EffectNone
		return nil, e
	}
	r.engine.performing.Pause()
	defer func() {
		r.engine.performing.Resume()
		r.calls.ClientAnswered()
	}()
	if err := r.record.Journal(r.background()); err != nil {
		return nil, err
	}
	r.notify()
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
