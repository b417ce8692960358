package host

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/runstore"
)

// The model's own tools.
const (
	toolExec = "exec"
	toolWait = "wait"
)

// usage returns what the current exec or wait of the run has used.
func (r *run) usage() observe.Usage {
	c, _ := r.calls.countedAt(r.driver.started, time.Now())
	return observe.Usage{Start: r.driver.started, CPUMicros: c.CPUMicros, OutputBytes: r.driver.output.used, ImageBytes: r.driver.imageSize}
}

// observeDiscarded reports the end of a run that this process knows only from its record.
func (e *engine) observeDiscarded(rec *runstore.Record, f *failure) {
	o := e.obs.Run(rec.ID, rec.Session)
	o.Parent = rec.ToolCallID
	o.Discarded(f)
}

// ofCause says what a run that ended with a cause has failed of.
func ofCause(cause error) *failure {
	var f *failure
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &f):
		return f
	case errors.Is(cause, ErrAborted), errors.Is(cause, ErrSessionEnded), errors.Is(cause, ErrClosed), errors.Is(cause, context.Canceled):
		return failf(CodeAborted, "", PhaseHost, "%v", cause)
	default:
		return ofStore(cause)
	}
}
