package mcpserver

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/jsontext"
)

const (
	driveStep = 10 * time.Second       // of one wait
	driveFor  = time.Minute            // how long a run is driven after its client has asked last
	driveRest = 100 * time.Millisecond // between two waits
)

// drivers are the tasks whose runs this process drives.
type drivers struct {
	mu     sync.Mutex
	tasks  map[string]*taskDriver
	stop   chan struct{}
	closed bool
}

// taskDriver drives the run of one task.
type taskDriver struct {
	asked atomic.Int64  // when a client asked last, in Unix nanoseconds
	done  chan struct{} // closed when it drives no more
}

func newDrivers() *drivers {
	return &drivers{tasks: map[string]*taskDriver{}, stop: make(chan struct{})}
}

// close has all drivers end when their runs come back: at the latest when the host closes.
func (d *drivers) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closed = true
		close(d.stop)
	}
}

// drive goes on with a run until it ends, waits for people alone, or no client has asked
// for its task for a while. The channel is closed when there may be news of it.
func (s *Server) drive(caller host.Session, runID string) <-chan struct{} {
	s.drivers.mu.Lock()
	defer s.drivers.mu.Unlock()
	d := s.drivers.tasks[runID]
	if d == nil {
		d = &taskDriver{done: make(chan struct{})}
		if s.drivers.closed {
			close(d.done)
			return d.done
		}
		s.drivers.tasks[runID] = d
		go s.driveOn(d, caller, runID)
	}
	d.asked.Store(time.Now().UnixNano())
	return d.done
}

// driveOn is the goroutine of a driver.
func (s *Server) driveOn(d *taskDriver, caller host.Session, runID string) {
	defer func() {
		s.drivers.mu.Lock()
		defer s.drivers.mu.Unlock()
		delete(s.drivers.tasks, runID)
		close(d.done)
	}()
	// No request bounds it: a client that goes away finds its task as far as it came.
	ctx, unlock, err := s.tasks.driver(runID, taskHold)
	if errors.Is(err, context.Canceled) {
		return // another process drives it
	}
	if err != nil {
		s.options.Logger.Warn("a task does not go on now", "run", runID, "error", err)
		return
	}
	defer unlock()
	ctx = host.WithAskingCaller(ctx)
	for {
		delivery := s.host.Deliver(ctx, caller, runID, driveStep)
		res := delivery.Result
		if res.Status == host.StatusFailed && keptForLater(res) {
			delivery.Done()
			return
		}
		if err := s.keep(ctx, runID, res); err != nil {
			delivery.Release()
			s.options.Logger.Warn("what came of a task could not be stored", "run", runID, "error", err)
			return
		}
		delivery.Done()
		if res.Status != host.StatusWaiting || res.Reason == host.ReasonApproval || time.Since(time.Unix(0, d.asked.Load())) > driveFor {
			return
		}
		rest := time.NewTimer(driveRest)
		select {
		case <-rest.C:
		case <-s.drivers.stop:
			rest.Stop()
			return
		}
	}
}

// keep stores what a run came to.
func (s *Server) keep(ctx context.Context, runID string, res *host.Result) error {
	ctx, cancel := context.WithTimeout(ctx, driveStep)
	defer cancel()
	err := s.tasks.change(ctx, runID, func(t *task) error { return t.take(res) })
	if !errors.Is(err, documents.ErrTooLarge) {
		return err
	}
	return s.tasks.change(ctx, runID, func(t *task) error {
		t.Output, t.Answers = nil, nil
		t.fail("the program has ended, and its result is too large for a task: have it return less")
		return nil
	})
}

// take enters what a run came to.
func (t *task) take(res *host.Result) error {
	if t.Status.ended() {
		return nil // it was cancelled meanwhile
	}
	switch {
	case res.Status == host.StatusWaiting:
		t.takeOutput(res.Output)
		return nil
	case res.Status == host.StatusCompleted:
	case res.Code == host.CodeAborted:
		t.end(taskCancelled, res.Error)
		return nil
	case res.Phase == host.PhaseHost || isGone(res):
		t.fail(res.Error)
		return nil
	}
	t.takeOutput(res.Output)
	whole := *res
	whole.Output = t.Output
	resultOf := programResult
	if t.Direct {
		resultOf = directResult
	}
	r, err := resultOf(&whole, nil)
	if err != nil {
		return err
	}
	if t.Result, err = jsontext.Marshal(r); err != nil {
		return err
	}
	t.Output, t.Answers = nil, nil
	t.end(taskCompleted, "")
	return nil
}

// keptForLater reports whether a wait failed and its run is as it was.
func keptForLater(res *host.Result) bool {
	switch res.Reason {
	case host.ReasonRunBusy, host.ReasonStoreFailed, host.ReasonToolsMissing, host.ReasonEngineUnavailable, host.ReasonQuota, host.ReasonTooManySuspended:
		return true
	}
	return res.Code == host.CodeUnavailable
}

// isGone reports whether there is no run to wait for.
func isGone(res *host.Result) bool {
	switch res.Reason {
	case host.ReasonRunUnavailable, host.ReasonRunExpired, host.ReasonWrongSession, host.ReasonWrongRun:
		return true
	}
	return false
}
