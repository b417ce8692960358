package host

import (
	"context"
	"iter"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/trajectory"
)

// RunEvent is one thing that happens while a run is driven. One of its fields is set.
type RunEvent struct {
	// Event is about the run or one of its nested calls: its start, progress and end.
	Event *trajectory.Event
	// Output is what the program has put out, at the end of the turn in which it did.
	Output *codemode.Output
	// Approval is what a person is asked.
	Approval *PendingApproval
	// Result is the last: what start has returned, or why it has returned nothing.
	Result *Result
}

// noResult is what Events says of a start without a Result.
const noResult = "the function that was to start the run has returned no result: it must return that of Exec or Wait."

// Events calls start and yields what happens in the run that start drives, as it
// happens, for those who show it to a person. Start calls Exec or Wait, of the host or of
// a ModelTools, with the context that it gets:
//
//	for e, err := range h.Events(ctx, func(ctx context.Context) *host.Result { return h.Exec(ctx, session, in) }) {
//
// The last pair has the Result, and its Err. What the loop is too slow for is left out,
// with an event of kind Gap in its place; the Result is never left out. A loop that is left
// early ends the context of start, which aborts a run that is still running, and waits until
// start has returned. A panic of start is one of the loop. A start that returns nil, or leaves
// by runtime.Goexit, has failed: the Result says so, with CodeInternal. Each loop calls start,
// in a goroutine of its own.
func (h *Host) Events(ctx context.Context, start func(ctx context.Context) *Result) iter.Seq2[RunEvent, error] {
	return func(yield func(RunEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		w := observe.NewWatch()
		var res *Result
		var panicked any
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { panicked = recover() }()
			res = start(observe.WithWatch(ctx, w))
		}()
		defer func() {
			cancel()
			w.Close()
			<-ended
			if panicked != nil {
				panic(panicked)
			}
		}()
		pass := func() bool {
			for _, one := range w.Take() {
				if !yield(RunEvent{Event: one.Event, Output: one.Output, Approval: one.Approval}, nil) {
					return false
				}
			}
			return true
		}
		for {
			select {
			case <-w.Wake():
				if !pass() {
					return
				}
			case <-ended:
				if pass() && panicked == nil {
					if res == nil {
						res = codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "%s", noResult).Result()
					}
					yield(RunEvent{Result: res}, res.Err())
				}
				return
			}
		}
	}
}
