package awake_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quoinhq/quoin/internal/awake"
)

var errSlow = errors.New("slow")

// TestTimeout compares the contexts with the standard library's, to the
// nanosecond, with contexts that are made of them.
func TestTimeout(t *testing.T) {
	type make func(context.Context, time.Duration, error) (context.Context, context.CancelFunc)
	seen := func(of make, parent func() (context.Context, context.CancelFunc), end func(context.CancelFunc)) (out []string) {
		synctest.Test(t, func(t *testing.T) {
			above, cancelAbove := parent()
			defer cancelAbove()
			start := time.Now()
			ctx, cancel := of(above, 3*time.Second, errSlow)
			defer cancel()
			child, cancelChild := context.WithCancel(ctx)
			defer cancelChild()
			grandchild, cancelGrandchild := context.WithCancel(context.WithValue(ctx, errSlow, 1))
			defer cancelGrandchild()
			if due, ok := ctx.Deadline(); ok {
				out = append(out, "due after "+due.Sub(start).String())
			}
			end(cancel)
			for _, c := range []context.Context{ctx, child, grandchild} {
				<-c.Done()
				out = append(out, time.Since(start).String()+" "+c.Err().Error()+" "+context.Cause(c).Error())
			}
		})
		return out
	}
	endless := func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) }
	for name, c := range map[string]struct {
		parent func() (context.Context, context.CancelFunc)
		end    func(context.CancelFunc)
	}{
		"over":     {endless, func(context.CancelFunc) {}},
		"canceled": {endless, func(cancel context.CancelFunc) { cancel(); cancel() }},
		"parent ended before": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(context.Background())
			cancel(errSlow)
			return ctx, func() {}
		}, func(context.CancelFunc) {}},
		"parent over": {func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), time.Second)
		}, func(context.CancelFunc) {}},
		"parent canceled": {func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(2*time.Second, cancel)
			return ctx, cancel
		}, func(context.CancelFunc) {}},
	} {
		got, want := seen(awake.WithTimeoutCause, c.parent, c.end), seen(context.WithTimeoutCause, c.parent, c.end)
		if len(got) != 4 || len(want) != 4 {
			t.Fatalf("%s: %q, %q", name, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %q, want %q", name, got[i], want[i])
			}
		}
	}
}

// TestTimeoutWithoutCause: the cause is then the standard library's cause.
func TestTimeoutWithoutCause(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := awake.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	if ctx.Err() != context.DeadlineExceeded || context.Cause(ctx) != context.DeadlineExceeded {
		t.Errorf("%v, %v", ctx.Err(), context.Cause(ctx))
	}
}
