package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// Advancer resumes suspended runs that no caller waits for, once one of their timers is due
// or one of their calls has an answer. What a program puts out is kept for the next wait,
// and so is the result of one that ends.
//
// Hints say which run may continue: a call of this process that has settled, a decision, a
// notice of the store. Each Times.PollEvery a poll finds what hints have missed. At most
// Config.Advance runs are advanced at once, and sessions get their turns. A caller comes
// first: see YieldTo.
type Advancer struct {
	env    *drive.Env
	runs   Runs
	places *quota.Meter
	hints  chan string // ids of runs that may continue; what does not fit is left to the poll
	life   context.Context
	end    context.CancelFunc
	loop   sync.WaitGroup

	due atomic.Int64 // runs that the last poll has found

	mu       sync.Mutex
	advances map[string]*advance // by run; those that wait for a place too
	callers  map[string]int      // of runs that callers want
	pauses   map[string]pause    // of runs that could not continue

	// These fields belong to the goroutine of serve.
	retired map[string]bool // approvals that no run waits for any more
	failed  firstFailure
}

// advance is one attempt to resume a run.
type advance struct {
	leave func()        // has the run suspended as soon as it can be
	over  chan struct{} // closed when this process does nothing more for the run
}

// Limits of an advancer.
const (
	candidatesAPlace = 8    // advances that wait for a place, for each that there is
	maxPauses        = 4096 // runs with a pause that is remembered
)

// Start has the advancer resume runs that no caller waits for.
func (a *Advancer) Start() {
	if a != nil {
		a.loop.Go(a.serve)
	}
}

// DueNow returns how many runs the last poll has found that can continue.
func (a *Advancer) DueNow() int {
	if a == nil {
		return 0
	}
	return int(a.due.Load())
}

// NewAdvancer makes an advancer of that many places, or nil without any. The methods of
// a nil advancer do nothing.
func NewAdvancer(e *drive.Env, runs Runs, places int) *Advancer {
	if places <= 0 {
		return nil
	}
	a := &Advancer{
		env: e, runs: runs, places: quota.NewMeter("advances", "runs that go on without a caller", "server.advance", int64(places), quota.SharesOf(e.Quotas)),
		hints: make(chan string, 64*candidatesAPlace), advances: map[string]*advance{}, callers: map[string]int{}, pauses: map[string]pause{},
	}
	a.life, a.end = context.WithCancel(e.Life)
	return a
}

// serve looks for runs that can continue until the advancer is stopped.
func (a *Advancer) serve() {
	times := &a.env.Times
	tick := time.NewTicker(times.PollEvery)
	defer tick.Stop()
	woken, decided := a.watch()
	// A look at the tick before would be half a tick early.
	store, decisions := pace{every: times.PollEvery - times.PollEvery/2}, pace{every: times.DecisionsEvery - times.PollEvery/2}
	for {
		select {
		case id := <-a.hints:
			a.considerParked(id)
		case id, open := <-woken:
			if !open {
				woken = nil
				continue
			}
			a.consider(id)
		case <-decided:
			decisions.next = time.Time{}
		case <-tick.C:
			a.env.Guard(a.lookHere)
			store.look(func() { a.env.Guard(a.lookAtStore) })
			if decided != nil {
				decisions.look(func() { a.env.Guard(a.lookAtDecisions) })
			}
		case <-a.env.Parking:
			return
		case <-a.life.Done():
			return
		}
	}
}

// Hint says that a run may continue.
func (a *Advancer) Hint(id string) {
	if a == nil {
		return
	}
	select {
	case a.hints <- id:
	default: // the poll finds it
	}
}

// lookHere considers the runs that this process has parked.
func (a *Advancer) lookHere() {
	for _, r := range a.runs.OwnedBy(func(codemode.Session) bool { return true }) {
		a.considerParked(r.ID)
	}
}

// considerParked considers a run that this process has parked, if there is something to deliver.
func (a *Advancer) considerParked(id string) {
	if r := a.runs.ByID(id); r != nil && r.CanAdvance() {
		a.consider(id)
	}
}

// room is how many more runs may wait for a place.
func (a *Advancer) room() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int(a.places.Total())*candidatesAPlace - len(a.advances)
}

// paused is how many runs are left alone for now.
func (a *Advancer) paused() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pauses)
}

// consider resumes a run as soon as it is its session's turn, unless a caller wants it, it
// is being advanced, or it could not continue a short time ago.
func (a *Advancer) consider(id string) {
	if r := a.runs.ByID(id); r != nil && (r.Now() != run.Parked || r.Record.Claimed() && !r.CanAdvance()) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.advances[id] != nil || a.callers[id] > 0 || a.env.Clock.Now().Before(a.pauses[id].until) ||
		len(a.advances) >= int(a.places.Total())*candidatesAPlace || a.life.Err() != nil {
		return
	}
	ctx, leave := context.WithCancel(a.life)
	one := &advance{leave: leave, over: make(chan struct{})}
	a.advances[id] = one
	a.loop.Go(func() {
		defer a.done(id, one)
		a.env.Guard(func() { a.attempt(ctx, id) })
	})
}

// done forgets an advance that is over.
func (a *Advancer) done(id string, one *advance) {
	one.leave()
	a.mu.Lock()
	delete(a.advances, id)
	a.mu.Unlock()
	close(one.over)
	a.Hint(id) // for calls that have settled by now
}

// YieldTo has a run without a caller suspended, to give it to a caller, and waits for that.
// The run is left to callers until release.
func (a *Advancer) YieldTo(ctx context.Context, id string) (release func()) {
	if a == nil {
		return func() {}
	}
	a.mu.Lock()
	a.callers[id]++
	delete(a.pauses, id)
	one := a.advances[id]
	a.mu.Unlock()
	if one != nil {
		one.leave()
		select {
		case <-one.over:
		case <-ctx.Done():
		}
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.callers[id]--; a.callers[id] <= 0 {
			delete(a.callers, id)
		}
	}
}

// Stop ends all advances; their runs stay in the store.
func (a *Advancer) Stop() {
	if a == nil {
		return
	}
	a.end()
	over := make(chan struct{})
	go func() {
		a.loop.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-time.After(a.env.Times.DriverGrace):
		a.env.Logger.Error("runs that go on without a caller cannot be suspended")
	}
}

// attempt resumes a run once it is the turn of its session.
func (a *Advancer) attempt(ctx context.Context, id string) {
	s, err := a.sessionOf(ctx, id)
	if err != nil {
		a.couldNot(id, fault.FromStore(err))
		return
	}
	owner := quota.OwnerOf(s)
	ticket := a.places.Queue(owner)
	select {
	case <-ticket.Ready():
	case <-ctx.Done():
		if canceled, _ := ticket.Cancel(); !canceled {
			a.places.Give(owner, 1)
		}
		return
	}
	defer a.places.Give(owner, 1)
	if ctx.Err() != nil {
		return
	}
	advanced, f := a.runs.Advance(ctx, s, id)
	switch {
	case advanced:
		a.mu.Lock()
		delete(a.pauses, id)
		a.mu.Unlock()
	case ctx.Err() == nil:
		a.couldNot(id, f)
	}
}

// sessionOf returns the session of a run, here or in the store.
func (a *Advancer) sessionOf(ctx context.Context, id string) (codemode.Session, error) {
	if r := a.runs.ByID(id); r != nil {
		return r.Session, nil
	}
	rec, err := a.env.Store.Get(ctx, id)
	if err != nil {
		return codemode.Session{}, err
	}
	return rec.Session, nil
}

// pause is how long a run that could not continue is left alone.
type pause struct {
	until time.Time
	next  time.Duration
}

// couldNot leaves a run that could not continue alone for a while. The first time is logged.
func (a *Advancer) couldNot(id string, f *codemode.Error) {
	if f != nil && (f.Reason == codemode.ReasonRunBusy || f.Reason == codemode.ReasonRunUnavailable || f.Reason == codemode.ReasonRunExpired || errors.Is(f, runstore.ErrEnded)) {
		return // another process has it, or it has ended
	}
	now := a.env.Clock.Now()
	a.mu.Lock()
	p, again := a.pauses[id]
	if !again && len(a.pauses) >= maxPauses {
		for other, old := range a.pauses {
			if now.After(old.until) {
				delete(a.pauses, other)
			}
		}
	}
	p.next = min(max(2*p.next, a.env.Times.FirstPause), a.env.Times.LongestPause)
	p.until = now.Add(p.next)
	if again || len(a.pauses) < maxPauses {
		a.pauses[id] = p
	}
	a.mu.Unlock()
	if !again && f != nil {
		a.env.Logger.Warn("a suspended run could not go on without a caller; it is tried again, at longer and longer intervals", "run", id, "error", f)
	}
}

// firstFailure reports the first of several failures of a store in a row.
type firstFailure struct{ failing bool }

func (f *firstFailure) report(log *slog.Logger, message string, err error, life context.Context) {
	if !f.failing && life.Err() == nil {
		f.failing = true
		log.Error(message, "error", err)
	}
}

func (f *firstFailure) over() { f.failing = false }
