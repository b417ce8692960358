package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
)

// TestACallerCannotExtendTheTimeLimit: what a caller asks for shortens the
// operator's limit, and never extends it.
func TestACallerCannotExtendTheTimeLimit(t *testing.T) {
	h := start(t, host.Config{
		Settings: host.Settings{Timeout: 100 * time.Millisecond},
		Tools:    []catalog.Tool{newGate().tool("never")},
	})
	// Without the limit this context would end the program, as aborted.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const day = 24 * time.Hour
	loop := h.Exec(ctx, me, host.ExecInput{Timeout: day, Code: `for (;;);`})
	wantFailure(t, loop, host.CodeTimeout, "", loop.Phase)
	id := wantWaiting(t, h.Exec(ctx, me, host.ExecInput{Timeout: day, Code: `await tools.never()`}), host.ReasonPendingTools)
	wantWaiting(t, h.WaitFor(ctx, me, id, day), host.ReasonPendingTools)
}
