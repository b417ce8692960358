package host

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/internal/wire"
)

// leg is one Exec or Wait of a run. Between two turns its guest is in a worker,
// or it rests: it was taken out so that the worker can serve somebody else.
type leg struct {
	run      *run
	ctx      context.Context // of this Exec or Wait, and of the run
	deadline time.Time
	margin   time.Duration   // of the deadline: what must be left for another turn
	worker   *guestrt.Worker // nil while the guest rests
	image    []byte          // of the guest as it is now; nil: not taken since it ran
	large    bool            // the guest is too large to be parked early
	patience time.Duration   // how much longer people are waited for
	refused  *quota.Denied   // why there was no worker, the last time
}

// leg begins an Exec or Wait.
func (r *run) leg(ctx context.Context, deadline time.Time) *leg {
	r.allowed = deadline.Sub(r.started).Round(time.Millisecond)
	l := &leg{run: r, ctx: ctx, patience: time.Until(deadline)}
	l.until(deadline)
	return l
}

// until sets the deadline.
func (l *leg) until(deadline time.Time) {
	l.deadline, l.run.deadline = deadline, deadline
	l.margin = min(turnMargin, time.Until(deadline)*3/10)
}

// errBusy means that no worker came free in time.
var errBusy = errors.New("every guest worker is busy")

// restAfter is how long a guest stays in its worker while it waits for a tool.
// Taking it out and putting it back costs about half a millisecond, so that a
// tool this slow takes at most a fiftieth longer, and a faster one pays nothing.
const restAfter = 25 * time.Millisecond

// turnMargin is the time that must be left for another turn of the guest, or
// three tenths of the leg's if that is less. With less, a guest that only waits
// for tools is suspended: a turn that its deadline cuts off, which for the guest
// comes up to 50 ms early, would fail it.
const turnMargin = 60 * time.Millisecond

// lease takes one of the host's places for workers and a worker for it.
func (l *leg) lease() error {
	h := l.run.h
	if err := l.queue(); err != nil {
		return err
	}
	w, err := l.run.pool.Acquire(l.ctx, l.run.session.affinity(), l.run.limits())
	if err != nil {
		h.meters.workers.Give(l.run.session.Owner(), 1)
		return err
	}
	l.worker, l.run.layers = w, w.Layers()
	return nil
}

// queue waits for a place for a worker, which sessions get in turns.
func (l *leg) queue() (err error) {
	h := l.run.h
	ticket := h.meters.workers.Queue(l.run.session.Owner())
	select {
	case <-ticket.Ready():
		return nil
	default:
	}
	t := time.NewTimer(time.Until(l.deadline) - l.margin)
	defer t.Stop()
	select {
	case <-ticket.Ready():
		return nil
	case <-t.C:
		err = errBusy
	case <-h.parking:
		err = errClosing
	case <-l.ctx.Done():
		err = l.ctx.Err()
	}
	canceled, why := ticket.Cancel()
	if !canceled { // it came at the last moment
		h.meters.workers.Give(l.run.session.Owner(), 1)
	}
	if why != nil && err == errBusy {
		h.ReportDenied(l.run.session, why)
		l.refused = why
	}
	return err
}

// release gives the worker back, if there is one.
func (l *leg) release() {
	if l.worker == nil {
		return
	}
	l.run.pool.Release(l.worker)
	l.worker = nil
	l.run.h.meters.workers.Give(l.run.session.Owner(), 1)
}

// rest takes the guest out of its worker. A guest that is too large to rest stays
// where it is.
func (l *leg) rest() error {
	_, err := l.still()
	if tooLarge(err) {
		return nil
	}
	if err != nil {
		return err
	}
	l.release()
	l.run.h.obs.debug.Decision("guest left its worker while it waits", "run", l.run.id)
	return nil
}

// tooLarge reports whether a guest could not be taken out because its image would
// be larger than Settings.MaxSnapshot, or than there is room for.
func tooLarge(err error) bool {
	var (
		e *guestrt.WorkerError
		f *failure
	)
	return errors.As(err, &e) && Code(e.Code) == CodeSnapshotLimit || errors.As(err, &f) && f.Reason == ReasonQuota
}

// serviceGrace is what taking a guest out of a worker or putting it in may take
// beyond the leg's deadline. A worker that needs longer is stopped.
const serviceGrace = time.Second

// errStuck means that a worker did not answer although no guest ran in it.
var errStuck = errors.New("the guest worker does not answer")

// service runs a step in which no guest code runs under a time limit.
func (l *leg) service(step func(context.Context) error) error {
	limit := max(time.Until(l.deadline), 0) + serviceGrace
	ctx, cancel := context.WithTimeoutCause(l.ctx, limit, errStuck)
	defer cancel()
	err := step(ctx)
	if err != nil && l.ctx.Err() == nil && ctx.Err() != nil {
		return errStuck
	}
	return err
}

// still returns an image of the guest as it is since its last turn. A guest that
// is in a worker stays there.
func (l *leg) still() ([]byte, error) {
	if l.image != nil || l.run.held != nil {
		return l.image, nil
	}
	err := l.service(func(ctx context.Context) (err error) {
		l.image, err = l.worker.Snapshot(ctx, int(l.run.settings.MaxSnapshot))
		return err
	})
	if err == nil {
		if f := l.run.chargeImage(len(l.image)); f != nil {
			l.image = nil
			return nil, f
		}
	}
	return l.image, err
}

// errUnrestored means that no worker could take the guest, for reasons that are not
// the guest's. The run is as it was.
var errUnrestored = errors.New("no guest worker could take the suspended program")

// rise puts a resting guest into a worker. The image is kept until the guest has
// run there. A process that cannot take it is replaced once by one that has run
// nothing yet.
func (l *leg) rise() error {
	if l.worker != nil {
		return nil
	}
	err := l.lease()
	if err == nil {
		l.run.h.obs.metrics.GuestRestored()
		if err = l.restore(); l.processFailed(err) {
			l.run.h.log.Warn("a guest worker could not take a suspended program; another one tries", "run", l.run.id, "error", err)
			if err = l.replaceWorker(); err == nil {
				err = l.restore()
			}
		}
	}
	if !l.processFailed(err) {
		return err
	}
	l.run.h.log.Error("no guest worker could take a suspended program; it waits on", "run", l.run.id, "error", err)
	l.release()
	return errUnrestored
}

func (l *leg) restore() error {
	return l.service(func(ctx context.Context) error {
		return l.worker.Restore(ctx, l.image, l.run.limits(), l.run.file)
	})
}

// processFailed reports whether a guest has no worker although nothing is wrong
// with its image, and there is time and use for another attempt.
func (l *leg) processFailed(err error) bool {
	var e *guestrt.WorkerError
	return l.ctx.Err() == nil && (errors.Is(err, errStuck) || errors.As(err, &e) && Reason(e.Reason) != ReasonRestoreFailed)
}

// replaceWorker takes a worker that has run nothing yet in place of the leg's.
func (l *leg) replaceWorker() error {
	h := l.run.h
	l.run.pool.Release(l.worker)
	l.worker = nil
	w, err := l.run.pool.AcquireFresh(l.ctx, l.run.session.affinity(), l.run.limits())
	if err != nil {
		h.meters.workers.Give(l.run.session.Owner(), 1)
		return err
	}
	l.worker, l.run.layers = w, w.Layers()
	return nil
}

// turn delivers what has settled and runs the guest. It answers errBusy or
// errUnrestored, and delivers nothing, when there is no worker or no time left for a
// turn.
func (l *leg) turn() (*wire.Report, error) {
	if l.run.held != nil {
		return l.begin()
	}
	if err := l.rise(); err != nil {
		return nil, err
	}
	if time.Until(l.deadline) < l.margin {
		return nil, errBusy
	}
	l.image = nil
	if !l.run.h.volatile() || !l.run.stored { // a store in memory holds the image still
		_ = l.run.chargeImage(0) // less is never refused
	}
	return l.worker.Turn(l.ctx, l.run.take(), l.turnDeadline())
}

// blame says why a step of the guest failed: because somebody ended it, because
// there was no worker, or as the worker says.
func (l *leg) blame(err error) *failure {
	var own *failure
	switch {
	case l.run.ctx.Err() != nil:
		return l.run.aborted()
	case l.ctx.Err() != nil:
		return failf(CodeAborted, "", PhaseHost, "code mode run was aborted: %v", context.Cause(l.ctx))
	case errors.As(err, &own):
		return own
	case errors.Is(err, errStuck):
		return failf(CodeTimeout, ReasonWorkerCrashed, PhaseHost, "%v", err)
	case errors.Is(err, errClosing):
		return closing()
	case errors.Is(err, errBusy):
		return failf(CodeUnavailable, "", PhaseHost, "every guest worker is busy%s. Try again later.", because(l.refused))
	default:
		return ofWorker(err)
	}
}

// because adds a quota to a message.
func because(d *quota.Denied) string {
	if d == nil {
		return ""
	}
	return ": " + d.Error()
}

// drive runs the guest to the next result: it serves the guest's bridge calls as
// their answers arrive, with no model turn in between. The caller contains it.
func (l *leg) drive(rep *wire.Report, err error) *Result {
	for {
		switch {
		case errors.Is(err, errBusy), errors.Is(err, errClosing), errors.Is(err, errUnrestored):
			return l.suspend()
		case err != nil:
			return l.run.failed(l.blame(err))
		}
		if res := l.take(rep); res != nil {
			return res
		}
		if res := l.ready(); res != nil {
			return res
		}
		rep, err = l.turn()
	}
}

// ready waits until the guest should run again. If it should not in this Exec or
// Wait, the result says why.
func (l *leg) ready() *Result {
	for {
		why, err := l.await()
		switch {
		case err != nil:
			return l.run.failed(l.blame(err))
		case why == wokeReady:
			return nil
		case why == wokeDeadline, why == wokeCaller:
			return l.suspend()
		case why == wokeNothing:
			return l.run.failed(failf(CodeInternal, ReasonGuestException, PhaseGuest, "code mode promise is pending without host work"))
		}
		// The host shuts down. A guest too large to be parked goes on.
		if _, err := l.still(); !tooLarge(err) {
			return l.suspend()
		}
		l.large = true
	}
}

// take accounts for one turn. The result is nil if the run goes on.
func (l *leg) take(rep *wire.Report) *Result {
	r := l.run
	f := r.absorb(rep)
	if r.ctx.Err() != nil {
		// The guest may have seen its calls cancelled before we did.
		f = l.blame(r.ctx.Err())
	}
	if f != nil {
		return r.failed(f)
	}
	switch rep.Status {
	case wire.StatusFailed:
		return r.failed(r.overBudget(ofGuest(rep.Err)))
	case wire.StatusDone:
		return r.completed(rep.Value)
	}
	if f := r.overBudget(nil); f != nil {
		return r.failed(f)
	}
	fresh, yielded, f := r.admit(l.ctx, rep.Requests)
	switch {
	case f != nil:
		return r.failed(f)
	case yielded:
		return l.suspend(fresh...)
	}
	if err := l.checkpoint(fresh); err != nil {
		return r.failed(l.blame(err))
	}
	return nil
}

// woke says why a driver stopped waiting.
type woke int

const (
	wokeReady    woke = iota // there is something to deliver, or a guest timer is due
	wokeDeadline             // the time of this Exec or Wait is over
	wokeNothing              // nothing will ever come
	wokeCaller               // nothing will come until the caller has answered
	wokeClosing              // the host shuts down
)

// await blocks until there is a reason to run the guest again, or none can come.
// A guest that waits for long is put to rest meanwhile.
func (l *leg) await() (woke, error) {
	r := l.run
	end := l.countdown()
	defer end.stop()
	timer, stop := r.guestTimer()
	defer stop()
	var tired <-chan time.Time
	if l.worker != nil {
		t := time.NewTimer(restAfter)
		defer t.Stop()
		tired = t.C
	}
	closing := r.h.parking
	if l.large {
		closing = nil
	}
	for {
		switch {
		case r.ctx.Err() != nil:
			return 0, r.ctx.Err()
		case l.ctx.Err() != nil:
			return 0, l.ctx.Err()
		case timer == nil && r.outstanding() == 0:
			return wokeNothing, nil
		case isClosed(closing):
			return wokeClosing, nil
		case end.update():
			return wokeDeadline, nil
		case r.settled():
			return wokeReady, nil
		case r.callersTurn():
			return wokeCaller, nil
		}
		select {
		case <-r.wake:
		case <-timer:
			return wokeReady, nil
		case <-end.timer.C: // looked at above, unless it has been paused
		case <-closing:
		case <-tired:
			if err := l.rest(); err != nil {
				return 0, err
			}
		case <-l.ctx.Done():
		}
	}
}

func (r *run) guestTimer() (<-chan time.Time, func()) {
	if r.timerDue.IsZero() {
		return nil, func() {}
	}
	t := time.NewTimer(time.Until(r.timerDue))
	return t.C, func() { t.Stop() }
}

func (r *run) outstanding() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.calls)
}

// settled reports whether there is an answer to deliver.
func (r *run) settled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.inbox) > 0
}
