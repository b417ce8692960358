package trajectory

import (
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
)

// Run is what was recorded of the trajectory of one run.
type Run struct {
	ID      string
	Session codemode.Session
	Events  []Event // in the order in which they were recorded
	// Torn says why the events end before the file does, nil if they do not.
	Torn error
}

// Segment is one exec or wait of a run and the calls that started in it.
type Segment struct {
	Tool      string // exec or wait
	CallID    string // the model's, if the embedder passed it
	Start     time.Time
	Duration  time.Duration // 0 if its end was not recorded
	Status    string        // completed, waiting, failed; "": its end was not recorded
	Reason    string
	Code      string
	Message   string // of a failure
	Rewritten bool   // hooks have changed the program
	// InputBytes counts the program, OutputBytes value and output of the result.
	InputBytes    int
	OutputBytes   int
	Input, Output []byte // JSON: the program, the value; nil unless bodies were recorded
	Calls         []Call
}

// Call is one nested call. A call that was made again after a restart has its first
// start and its last end.
type Call struct {
	Event          // the last of it
	Ended     bool // its end was recorded
	Waiting   bool // it is known to wait for a person or the caller
	Progress  int  // interim results
	Approvals []Event
}

// Summary is the outcome of a run in short.
type Summary struct {
	RunID    string        `json:"runId"`
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"durationNs"` // to the last event
	Status   string        `json:"status"`     // completed, failed, waiting, or running: its end was not recorded
	Reason   string        `json:"reason,omitempty"`
	Code     string        `json:"code,omitempty"`
	Calls    int           `json:"calls"`
	Failed   int           `json:"failedCalls,omitempty"`
	Missed   int           `json:"missedEvents,omitempty"`
}

// Summary returns the outcome of the run in short.
func (r *Run) Summary() Summary {
	s := Summary{RunID: r.ID, Status: "running"}
	segments := r.Segments()
	for _, l := range segments {
		s.Calls += len(l.Calls)
		for _, c := range l.Calls {
			if c.Ended && c.Outcome != OutcomeOK {
				s.Failed++
			}
		}
	}
	if n := len(segments); n > 0 {
		s.Start, s.Reason, s.Code = segments[0].Start, segments[n-1].Reason, segments[n-1].Code
		if segments[n-1].Status != "" {
			s.Status = segments[n-1].Status
		}
	}
	for _, e := range r.Events {
		s.Duration = max(s.Duration, e.Time.Sub(s.Start))
		s.Missed += e.Missed
	}
	return s
}

// Segments groups the events by the exec and waits they belong to. A call belongs to
// the segment in which the program made it: one that starts or is made again between two
// segments belongs to the first of them.
func (r *Run) Segments() []Segment {
	b := segmentBuilder{calls: make(map[string]place)}
	for _, e := range r.Events {
		b.add(e)
	}
	for i := range b.segments {
		slices.SortStableFunc(b.segments[i].Calls, func(a, c Call) int { return a.Start.Compare(c.Start) })
	}
	return b.segments
}

type place struct{ segment, call int }

type segmentBuilder struct {
	segments []Segment
	over     bool // the last segment has ended
	calls    map[string]place
}

func (b *segmentBuilder) add(e Event) {
	switch e.Kind {
	case RunStarted, RunResumed:
		tool := "exec"
		if e.Kind == RunResumed {
			tool = "wait"
		}
		b.segments = append(b.segments, Segment{Tool: tool, CallID: e.CallID, Start: startOf(e), InputBytes: e.InputBytes, Input: e.Input, Rewritten: e.Rewritten})
		b.over = false
	case RunSuspended, RunEnded:
		b.end(e)
	case CallStarted, CallProgress, CallEnded, CallParked, ApprovalRequested, ApprovalDecided:
		if len(b.segments) == 0 {
			b.segments = append(b.segments, Segment{Tool: "exec", Start: startOf(e)}) // its own event is missing
		}
		b.call(e)
	}
}

// end notes how the segment ended. A run may also end while it is suspended: then its
// last segment ends.
func (b *segmentBuilder) end(e Event) {
	if len(b.segments) == 0 {
		b.segments = append(b.segments, Segment{Tool: "exec", CallID: e.CallID, Start: startOf(e)})
	}
	l := &b.segments[len(b.segments)-1]
	if !b.over {
		l.Duration = e.Duration
	}
	l.Status, l.Reason, l.Code, l.Message = e.Status, e.Reason, e.Code, e.Message
	l.OutputBytes, l.Output = e.OutputBytes, e.Output
	b.over = true
}

func (b *segmentBuilder) call(e Event) {
	at, known := b.calls[e.CallID]
	if !known {
		segment := len(b.segments) - 1
		at = place{segment, len(b.segments[segment].Calls)}
		b.calls[e.CallID] = at
		b.segments[segment].Calls = append(b.segments[segment].Calls, Call{Event: e})
		b.segments[segment].Calls[at.call].Start = startOf(e)
	}
	c := &b.segments[at.segment].Calls[at.call]
	c.Waiting = e.Kind == CallParked || e.Kind == ApprovalRequested || c.Waiting && e.Kind == CallStarted
	switch e.Kind {
	case CallProgress:
		c.Progress++
	case ApprovalRequested, ApprovalDecided:
		c.Approvals = append(c.Approvals, e)
	case CallEnded:
		c.merge(e)
		c.Ended = true
	case CallStarted:
		c.merge(e)
		c.Ended = false // made again after a restart
	}
}

// merge updates the call with a later event.
func (c *Call) merge(e Event) {
	start, input, via := c.Start, c.Input, c.Via
	if e.Kind == CallEnded && !e.Start.IsZero() && e.Start.After(start) {
		e.Duration += e.Start.Sub(start)
	}
	c.Event = e
	c.Start = start
	if c.Input == nil {
		c.Input = input
	}
	if c.Via == "" {
		c.Via = via
	}
}

func startOf(e Event) time.Time {
	if e.Start.IsZero() {
		return e.Time
	}
	return e.Start
}
