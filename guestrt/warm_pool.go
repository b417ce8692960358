package guestrt

import (
	"errors"
	"time"
)

// surgeTime is how long the pool keeps one more worker ready after someone
// found it empty.
const surgeTime = time.Minute

// takeWarm returns an unused worker, or nil if no worker is ready. Then
// the pool keeps one more ready for a while.
func (p *Pool) takeWarm() *process {
	child := p.warm.ready.take(matchAny)
	if child != nil {
		p.warm.count.Add(-1)
	} else {
		p.wantMore()
	}
	p.refill()
	return child
}

// wantMore raises the number of wanted workers by one for surgeTime.
func (p *Pool) wantMore() {
	s := &p.warm
	if s.surge.Add(1) > s.maximum {
		s.surge.Add(-1)
		return
	}
	s.later(surgeTime, func() {
		s.surge.Add(-1)
		if s.count.Load() > p.wanted() {
			if child := s.ready.take(matchAny); child != nil {
				s.count.Add(-1)
				p.drop(child)
			}
		}
	})
}

// wanted is how many workers should be ready now.
func (p *Pool) wanted() int32 { return int32(p.config.Prepared) + p.warm.surge.Load() }

// refill starts what is missing of the warm workers in the background. A start
// that fails is not repeated before the next Acquire, which will then meet the
// failure itself.
func (p *Pool) refill() {
	for !p.closed.Load() {
		n := p.warm.count.Load()
		if n >= p.wanted() {
			return
		}
		if p.warm.count.CompareAndSwap(n, n+1) {
			go p.startWarm()
		}
	}
}

// startWarm starts a worker for the shelf, where it is counted already.
func (p *Pool) startWarm() {
	child, err := p.start(p.ctx)
	switch {
	case err == nil:
		p.addWarm(child)
	case !errors.Is(err, errClosed):
		p.config.Logger.Error("guest worker cannot be started", "error", err)
		fallthrough
	default:
		p.warm.count.Add(-1)
	}
}

// addWarm makes a counted worker available. One too many is ended.
func (p *Pool) addWarm(child *process) {
	if p.warm.count.Load() > p.wanted() || !p.warm.ready.put(child) {
		p.warm.count.Add(-1)
		p.drop(child)
		return
	}
	if p.closed.Load() {
		p.clear()
	}
}

// returnUnused returns a process that was never used.
func (p *Pool) returnUnused(child *process) {
	p.warm.count.Add(1)
	p.addWarm(child)
}
