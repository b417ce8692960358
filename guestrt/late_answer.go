package guestrt

import (
	"sync"
	"time"

	"github.com/quoinhq/quoin/internal/awake"
)

// lateAnswer acts when an answer of a worker does not come in time. A turn of a guest
// often takes less time than it takes the runtime to wake a thread for a new timer, so one
// timer serves all of a worker's answers: it is left running when an answer comes, and
// looks at what is expected when it fires. While the host stood still, no answer could
// come: that time does not count. The zero value is ready. Its methods are safe for
// concurrent use.
type lateAnswer struct {
	mu    sync.Mutex
	timer *time.Timer
	fires time.Time  // zero: the timer does not run
	wait  awake.Wait // for the answer that is expected; zero: there is no such, or it has no deadline
	act   func()
	acted bool // for the answer that is expected
	ended bool
}

// expect has act called once, on a goroutine of its own, unless the answer comes before
// due. A zero due is never over. The answer before must have come.
func (l *lateAnswer) expect(due time.Time, act func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.act, l.acted = act, false
	if due.IsZero() {
		return
	}
	l.wait = awake.Until(time.Now(), due)
	if l.fires.IsZero() || l.wait.Look().Before(l.fires) {
		l.run()
	}
}

// came says that the answer is there. It reports whether that is in time.
func (l *lateAnswer) came() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wait, l.act = awake.Wait{}, nil
	return !l.acted
}

// stop ends the timer for good.
func (l *lateAnswer) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	if l.timer != nil {
		l.timer.Stop()
	}
}

// run has the timer fire when the wait is to be looked at. The caller holds mu.
func (l *lateAnswer) run() {
	if l.ended {
		return
	}
	l.fires = l.wait.Look()
	if left := time.Until(l.fires); l.timer == nil {
		l.timer = time.AfterFunc(left, l.fired)
	} else {
		l.timer.Reset(left)
	}
}

// fired is what the timer calls.
func (l *lateAnswer) fired() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fires = time.Time{}
	switch {
	case l.wait.IsZero():
	case l.wait.Over(time.Now()):
		l.acted = true
		l.act()
	default:
		l.run()
	}
}
