// Package process deals with signals to the quoin command and with its service manager.
package process

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Signals returns a context that the first SIGINT or SIGTERM ends, and one that
// the second does. The context of main ends with the first, which is too early for work that
// is to be finished: neither is derived from its cancellation.
func Signals(ctx context.Context) (soon, now context.Context, release func()) {
	ctx = context.WithoutCancel(ctx)
	now, cancelNow := context.WithCancel(ctx)
	soon, cancelSoon := context.WithCancel(now)
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for _, cancel := range []context.CancelFunc{cancelSoon, cancelNow} {
			select {
			case <-ch:
				cancel()
			case <-done:
				return
			}
		}
	}()
	return soon, now, func() {
		signal.Stop(ch)
		close(done)
		cancelNow()
	}
}
