package trajectory

import (
	"slices"
	"sync"
)

// Recorder keeps events in memory: it is for Config.Trajectory.OnEvent, or a Sink. The zero
// value is ready for use.
type Recorder struct {
	mu     sync.Mutex
	events []Event
}

var _ Sink = (*Recorder)(nil)

// Observe adds one event.
func (r *Recorder) Observe(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Record implements Sink.
func (r *Recorder) Record(e Event) error {
	r.Observe(e)
	return nil
}

// Events returns a copy of the events of one run, or of all runs when runID is
// empty, in order of their start.
func (r *Recorder) Events(runID string) []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []Event
	for _, e := range r.events {
		if runID == "" || e.RunID == runID {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int { return startOf(a).Compare(startOf(b)) })
	return out
}
