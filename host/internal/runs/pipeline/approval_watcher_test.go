package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/policy"
)

// behind is a store of approvals with a clock that is behind the clock of this host.
type behind struct {
	policy.Approvals
	by time.Duration
}

func (b behind) Resolve(ctx context.Context, id string, r policy.Resolution) (*policy.Approval, error) {
	a, err := b.Get(ctx, id)
	if err != nil || r.State == policy.StateExpired && r.At.Add(-b.by).Before(a.Expires) {
		return a, err
	}
	return b.Approvals.Resolve(ctx, id, r)
}

// TestAnApprovalExpiresByTheClockOfItsStore: the call waits as long as the store does not let
// it expire, and a store that does so at once has it expire on time.
func TestAnApprovalExpiresByTheClockOfItsStore(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			now := time.Now()
			store := behind{&policy.MemoryApprovals{}, by}
			id := "apr_" + strings.Repeat("0", 32)
			if err := store.Add(ctx, &policy.Approval{
				ID: id, State: policy.StatePending, Severity: policy.SeverityInfo,
				Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}, Created: now, Expires: now.Add(time.Minute),
			}); err != nil {
				t.Fatal(err)
			}
			looks := 5 + int(by/timing.Defaults.ApprovalRetry) // at most
			w := approvalWatcher{Retry: timing.Defaults.ApprovalRetry, Approvals: store, Log: slog.New(slog.DiscardHandler), Guard: func(step func()) {
				if looks--; looks < 0 {
					cancel(errors.New("it looks too often"))
				}
				step()
			}}
			a, err := w.wait(ctx, id)
			if want := now.Add(time.Minute + by); err != nil || a.State != policy.StateExpired || !time.Now().Equal(want) {
				t.Errorf("behind by %s: %+v, %v at %s, want it expired at %s", by, a, err, time.Now(), want)
			}
		})
	}
}
