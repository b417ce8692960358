package main

import (
	"context"

	"github.com/quoinhq/quoin/sdk"
)

type attempt struct {
	Key     string `json:"key" jsonschema:"idempotency key of the call"`
	Attempt int    `json:"attempt"`
	Epoch   uint64 `json:"epoch" jsonschema:"fencing token of this attempt"`
}

// once hangs at the first attempt at a call, and answers every further one. Attempts
// are counted in the plugin's storage, so it knows them again after a crash of
// the plugin or the host.
func once(ctx context.Context, c *sdk.Call, _ none) (attempt, error) {
	var n int
	key := "attempts/" + c.IdempotencyKey
	if _, err := c.Storage().GetJSON(ctx, key, &n); err != nil {
		return attempt{}, err
	}
	n++
	if err := c.Storage().SetJSON(ctx, key, n); err != nil {
		return attempt{}, err
	}
	if n > 1 {
		return attempt{Key: c.IdempotencyKey, Attempt: n, Epoch: c.Epoch}, nil
	}
	if err := c.Progress("hanging"); err != nil {
		return attempt{}, err
	}
	<-ctx.Done()
	return attempt{}, context.Cause(ctx)
}
