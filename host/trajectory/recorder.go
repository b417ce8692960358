package trajectory

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// Recorder keeps events. The zero value is ready for use.
type Recorder struct {
	mu     sync.Mutex
	events []Event
}

// Observe adds one event.
func (r *Recorder) Observe(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
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
	slices.SortStableFunc(out, func(a, b Event) int { return a.Start.Compare(b.Start) })
	return out
}

// WriteTree writes events as the branches of one exec, with the offset of each
// from start and its duration.
func WriteTree(w io.Writer, title string, start time.Time, total time.Duration, events []Event) error {
	if _, err := fmt.Fprintf(w, "%s  %s\n", title, round(total)); err != nil {
		return err
	}
	for i, e := range events {
		branch := "├─"
		if i == len(events)-1 {
			branch = "└─"
		}
		name := e.Via
		if name == "" {
			name = e.Method
		}
		line := fmt.Sprintf("%s %-24s %-28s +%-9s %-9s %s", branch, name, e.ToolID, round(e.Start.Sub(start)), round(e.Duration), e.Outcome)
		if e.Code != "" {
			line += " (" + e.Code + ")"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func round(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
