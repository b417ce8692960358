package host

import (
	"context"
	"errors"
	"os"
)

// Shutdown ends the host like Close, but first lets running cells reach a point where they can
// be resumed later. A store that outlives the host takes every run as soon as its program
// waits for something. The run's Exec or Wait returns a result with status waiting, and
// another host resumes the run. Where the store does not outlive the host, programs may end.
// What is still running when ctx ends is aborted. From the call on, Exec and Wait refuse with
// runtime_unavailable.
func (h *Host) Shutdown(ctx context.Context) error {
	h.engine.LetFinish(ctx)
	return h.Close()
}

// Close ends the host. Cells that are running end with the code aborted. Calls of
// suspended runs get DrainTimeout to finish and to reach the store; a store that
// outlives the host keeps those runs. Close leaves no process. It may be called
// again, and then waits for the first and returns its error.
func (h *Host) Close() error {
	h.closeOnce.Do(func() { h.closeErr = h.close() })
	return h.closeErr
}

func (h *Host) close() error {
	h.engine.Close()
	return errors.Join(h.cluster.leave(), h.stop())
}

func (h *Host) stop() error {
	var errs []error
	h.engine.End()
	defer h.obs.Close()
	if h.views.plugins != nil {
		errs = append(errs, h.views.plugins.Close())
	}
	if h.views.mcp != nil {
		errs = append(errs, h.views.mcp.Close())
	}
	errs = append(errs, h.engine.StopWorkers())
	h.views.indexing.Wait()
	if h.views.tempDir != "" {
		errs = append(errs, os.RemoveAll(h.views.tempDir))
	}
	return errors.Join(errs...)
}
