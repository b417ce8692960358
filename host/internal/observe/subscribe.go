package observe

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/trajectory"
)

// maxBacklog bounds the events that wait for one subscriber.
const maxBacklog = 1024

// feed hands events to subscribers. Publishing never blocks.
type feed struct {
	missed func() // counts an event that a subscriber was too slow for
	n      atomic.Int32
	outs   atomic.Int32 // subscribers who want what programs put out

	mu     sync.Mutex
	subs   map[*subscriber]struct{}
	closed bool
}

// subscriber is one reader and the events that wait for it.
type subscriber struct {
	out  chan trajectory.Event
	wake chan struct{} // capacity 1: the backlog or closed has changed
	outs bool

	mu      sync.Mutex
	backlog []trajectory.Event
	closed  bool
}

func (f *feed) any() bool { return f.n.Load() > 0 }

func (f *feed) subscribe(ctx context.Context, outputs bool) <-chan trajectory.Event {
	s := &subscriber{out: make(chan trajectory.Event), wake: make(chan struct{}, 1), outs: outputs}
	f.mu.Lock()
	s.closed = f.closed
	if f.subs == nil {
		f.subs = make(map[*subscriber]struct{})
	}
	f.subs[s] = struct{}{}
	f.n.Add(1)
	if outputs {
		f.outs.Add(1)
		context.AfterFunc(ctx, func() { f.outs.Add(-1) })
	}
	f.mu.Unlock()
	go func() {
		defer close(s.out)
		s.deliver(ctx)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, s)
		f.n.Add(-1)
	}()
	return s.out
}

func (f *feed) publish(e trajectory.Event) {
	if !f.any() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subs {
		if (s.outs || e.Kind != trajectory.OutputMade) && !s.add(e) {
			f.missed()
		}
	}
}

// close lets every subscriber take what is left.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for s := range f.subs {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.notify()
	}
}

// add appends an event, or counts it in the gap at the end of a full backlog.
func (s *subscriber) add(e trajectory.Event) (kept bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.backlog)
	switch {
	case n < maxBacklog:
		s.backlog = append(s.backlog, e)
		s.notify()
		return true
	case s.backlog[n-1].Kind != trajectory.Gap:
		s.backlog = append(s.backlog, trajectory.Event{Kind: trajectory.Gap, Time: time.Now().Round(0)})
		fallthrough
	default:
		gap := &s.backlog[len(s.backlog)-1]
		gap.Missed++
		gap.Seq = e.Seq // of the last that is missing
		return false
	}
}

func (s *subscriber) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// deliver moves events from the backlog to the reader.
func (s *subscriber) deliver(ctx context.Context) {
	for {
		batch, over := s.take()
		for _, e := range batch {
			select {
			case s.out <- e:
			case <-ctx.Done():
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		if over {
			return
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return
		}
	}
}

func (s *subscriber) take() (batch []trajectory.Event, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, s.backlog = s.backlog, nil
	return batch, s.closed
}
