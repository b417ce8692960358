package mcpserver

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// idle reports whether no client has asked for the task of a driver for a while.
func (s *drivers) idle(d *taskDriver) bool {
	return time.Since(time.Unix(0, d.asked.Load())) > s.times.driveFor
}

func newDrivers(h *host.Host, kept *Tasks, log *slog.Logger, t *times) *drivers {
	s := &drivers{host: h, kept: kept, log: log, times: t, tasks: map[string]*taskDriver{}}
	s.open, s.end = context.WithCancel(context.Background())
	return s
}

// close has all drivers end when their runs come back: at the latest when the host closes.
func (s *drivers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// rest waits, and reports whether they are open then.
func (s *drivers) rest(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.open.Done():
		return false
	}
}

// drive continues a run until it ends, waits for people alone, or no client has asked for its
// task for a while. The channel is closed when there may be news of it.
func (s *drivers) drive(caller host.Session, runID string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.tasks[runID]
	if d == nil {
		d = &taskDriver{done: make(chan struct{})}
		if s.open.Err() != nil {
			close(d.done)
			return d.done
		}
		s.tasks[runID] = d
		go s.driveOn(d, caller, runID)
	}
	d.asked.Store(time.Now().UnixNano())
	return d.done
}

// driveOn is the goroutine of a driver.
func (s *drivers) driveOn(d *taskDriver, caller host.Session, runID string) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tasks, runID)
		close(d.done)
	}()
	// No request bounds it: a client that goes away finds its task in the state that it has
	// reached.
	ctx, unlock, err := s.kept.driver(s.open, runID, s.times.driveStep)
	if errors.Is(err, context.Canceled) {
		s.log.Debug("a task is left to the process that drives it", "run", runID)
		return
	}
	if err != nil {
		s.log.Warn("a task cannot continue now", "run", runID, "error", err)
		return
	}
	defer unlock()
	ctx = host.WithAskingCaller(ctx)
	for {
		delivery := s.host.Deliver(ctx, caller, runID, s.times.driveStep)
		res := delivery.Result
		counts, over := s.enter(ctx, d, runID, res, delivery)
		if !counts {
			return
		}
		if over && res.Status == host.StatusWaiting { // who cancelled the task may not have reached its run
			s.host.Abort(context.WithoutCancel(ctx), caller, runID)
			return
		}
		if res.Status != host.StatusWaiting || res.Reason == codemode.ReasonApproval || s.idle(d) || !s.rest(s.times.driveRest) {
			return
		}
	}
}

// arrival is a host.Delivery without its result.
type arrival interface {
	Done()
	Release() (stored bool)
}

// enter stores the result of a wait, and tells the host whether it has arrived. It reports
// whether the wait counts, and whether the task was over before.
func (s *drivers) enter(ctx context.Context, d *taskDriver, runID string, res *host.Result, a arrival) (counts, over bool) {
	// What the store keeps as the end of the run is no refusal, whatever its reason is.
	if res.Status == host.StatusFailed && keptForLater(res) && !a.Release() {
		return false, false
	}
	over, err := s.keepAll(ctx, d, runID, res)
	if err != nil {
		a.Release()
		s.log.Warn("what came of a task could not be stored", "run", runID, "error", err)
		return false, false
	}
	a.Done()
	return true, over
}

// keepAll is keep. Only res has the output of a run that waits, so it is kept as soon as
// the store takes it.
func (s *drivers) keepAll(ctx context.Context, d *taskDriver, runID string, res *host.Result) (over bool, err error) {
	for {
		over, err = s.keep(ctx, runID, res)
		if err == nil || res.Status != host.StatusWaiting || errors.Is(err, fs.ErrNotExist) ||
			ctx.Err() != nil || s.idle(d) || !s.rest(s.times.keepRest) {
			return over, err
		}
	}
}

// keep stores the result of a run. It reports whether the task was over before.
func (s *drivers) keep(ctx context.Context, runID string, res *host.Result) (over bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.times.driveStep)
	defer cancel()
	err = s.kept.change(ctx, runID, func(t *task) error {
		over = t.Status.ended()
		return t.take(res)
	})
	if !errors.Is(err, documents.ErrTooLarge) {
		return over, err
	}
	// What is too large has ended for its client, and so has its run.
	return true, s.kept.change(ctx, runID, func(t *task) error {
		t.Output, t.Answers = nil, nil
		t.fail("what its program has put out is too large for a task: have it return less")
		return nil
	})
}

// take enters the result of a run.
func (t *task) take(res *host.Result) error {
	if t.Status.ended() {
		return nil // it was cancelled before
	}
	switch {
	case res.Status == host.StatusWaiting:
		t.takeOutput(res.Output)
		return nil
	case res.Status == host.StatusCompleted:
	case res.Code == codemode.CodeAborted:
		t.end(taskCancelled, res.Error)
		return nil
	case res.Phase == codemode.PhaseHost || isGone(res):
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
	case codemode.ReasonRunBusy, codemode.ReasonStoreFailed, codemode.ReasonToolsMissing, codemode.ReasonEngineUnavailable, codemode.ReasonQuota, codemode.ReasonTooManySuspended:
		return true
	}
	return res.Code == codemode.CodeUnavailable
}

// isGone reports whether there is no run to wait for.
func isGone(res *host.Result) bool {
	switch res.Reason {
	case codemode.ReasonRunUnavailable, codemode.ReasonRunExpired, codemode.ReasonWrongSession, codemode.ReasonWrongRun:
		return true
	}
	return false
}

// becomeTask makes a task of a call if its run has not ended in time and the call may become
// one. It is stored before the client hears of it.
func (c *toolCall) becomeTask(ctx context.Context, res *host.Result) bool {
	slot := slotOf(ctx)
	if slot == nil || res.Status != host.StatusWaiting {
		return false
	}
	s, now := c.server, time.Now().UTC()
	t := &task{Caller: identity(c.caller), RunID: res.RunID, Direct: c.direct, Created: now, Updated: now, Status: taskWorking}
	t.takeOutput(res.Output)
	if err := s.tasks.add(ctx, t); err != nil {
		s.options.Logger.Warn("a task could not be stored; its client gets the run itself", "run", res.RunID, "error", err)
		return false
	}
	slot.task = t
	if res.Reason != codemode.ReasonApproval {
		s.drivers.drive(c.caller, t.RunID)
	}
	return true
}
