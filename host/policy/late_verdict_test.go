package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/quoinhq/quoin/host/policy"
)

// TestAVerdictAtTheEndOfItsTimeBlocks: a hook that answers in the moment in which
// its call is given up may have given up too, rather than decided. That is so
// whichever of the two is noticed first.
func TestAVerdictAtTheEndOfItsTimeBlocks(t *testing.T) {
	t.Parallel()
	over := errors.New("over")
	for range 1000 {
		ctx, cancel := context.WithCancelCause(t.Context())
		lax := policy.Hook{Name: "lax", Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
			cancel(over)
			return policy.Verdict{}, nil
		}}
		if r := chain(t, lax).Before(ctx, call(`{}`), nil); r.Block == nil || r.Block.Hook != "lax" || !errors.Is(r.Block.Err, over) {
			t.Fatalf("the call passed: %+v", r)
		}
	}
}

// TestAResultAtTheEndOfItsTimeIsWithheld is the same for what hooks do with results.
func TestAResultAtTheEndOfItsTimeIsWithheld(t *testing.T) {
	t.Parallel()
	over := errors.New("over")
	for range 1000 {
		ctx, cancel := context.WithCancelCause(t.Context())
		lax := policy.Hook{Name: "lax", After: func(context.Context, *policy.Call, policy.Outcome) (json.RawMessage, error) {
			cancel(over)
			return nil, nil
		}}
		v, err := chain(t, lax).After(ctx, call(`{}`), policy.Outcome{Status: policy.StatusOK, Value: json.RawMessage(`"secret"`)})
		if v != nil || !errors.Is(err, over) {
			t.Fatalf("the result passed: %s, %v", v, err)
		}
	}
}
