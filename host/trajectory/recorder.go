package trajectory

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
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

// WriteTree writes events as the branches of one exec: the way the guest called,
// the tool, the offset from start, the duration and the outcome of each.
func WriteTree(w io.Writer, title string, start time.Time, total time.Duration, events []Event) error {
	if _, err := fmt.Fprintf(w, "%s  %s\n", title, round(total)); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, e := range events {
		branch := "├─"
		if i == len(events)-1 {
			branch = "└─"
		}
		fmt.Fprintf(tw, "%s %s\t%s\t+%s\t%s\t%s\n", branch, e.name(), e.ToolID, round(e.Start.Sub(start)), round(e.Duration), e.outcome())
	}
	return tw.Flush()
}

// name is what the guest wrote, as far as the event knows it.
func (e Event) name() string {
	if e.Via != "" {
		return e.Via
	}
	return e.Method
}

func (e Event) outcome() string {
	if e.Code != "" {
		return string(e.Outcome) + " (" + e.Code + ")"
	}
	return string(e.Outcome)
}

func round(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }
