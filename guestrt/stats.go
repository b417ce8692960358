package guestrt

// Stats is what a Pool has and what became of its workers.
type Stats struct {
	Warm  int // never used, waiting for a session
	Kept  int // used, waiting for their session to come back
	InUse int // lent, or between two states
	// Started counts the workers that got ready, since NewPool.
	Started uint64
	// Retired counts those that have ended since NewPool, by how: "released" when
	// the pool had no more use for them, "grown" when their guest had left them too
	// large for another one, "runaway" when they used processor time without a
	// guest, else the code of their WorkerError, or its reason where it has one.
	Retired map[string]uint64
}

// Stats returns the present numbers. It takes each at its own moment: they need
// not add up while workers come and go.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	live := len(p.live)
	p.mu.Unlock()
	s := Stats{Warm: p.warm.ready.count(), Kept: p.kept.count(), Retired: make(map[string]uint64)}
	s.InUse = max(0, live-s.Warm-s.Kept)
	p.counts.mu.Lock()
	defer p.counts.mu.Unlock()
	s.Started = p.counts.started
	for name, n := range p.counts.by {
		s.Retired[name] = n
	}
	return s
}

// count counts the places that are taken.
func (s slots[T]) count() int {
	n := 0
	for i := range s {
		if s[i].Load() != nil {
			n++
		}
	}
	return n
}
