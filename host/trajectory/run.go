package trajectory

import (
	"slices"
	"time"
)

// Run is the trajectory of one run, as far as it was recorded.
type Run struct {
	ID      string
	Session Session
	Events  []Event // in the order in which they were recorded
	// Torn says why the events end before the file does, nil if they do not.
	Torn error
}

// Leg is one exec or wait of a run and the calls that began in it.
type Leg struct {
	Tool      string // exec or wait
	CallID    string // the model's, as far as it was told
	Start     time.Time
	Duration  time.Duration // 0: its end was not recorded
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

// Call is one nested call. Of a call that was made anew after a restart it is the
// first beginning and the last end.
type Call struct {
	Event          // the last of it
	Ended     bool // its end was recorded
	Waiting   bool // as far as is known, for a person or the caller
	Progress  int  // interim results
	Approvals []Event
}

// Summary says in short what became of a run.
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

// Summary says in short what became of the run.
func (r *Run) Summary() Summary {
	s := Summary{RunID: r.ID, Status: "running"}
	legs := r.Legs()
	for _, l := range legs {
		s.Calls += len(l.Calls)
		for _, c := range l.Calls {
			if c.Ended && c.Outcome != OutcomeOK {
				s.Failed++
			}
		}
	}
	if n := len(legs); n > 0 {
		s.Start, s.Reason, s.Code = legs[0].Start, legs[n-1].Reason, legs[n-1].Code
		if legs[n-1].Status != "" {
			s.Status = legs[n-1].Status
		}
	}
	for _, e := range r.Events {
		s.Duration = max(s.Duration, e.Time.Sub(s.Start))
		s.Missed += e.Missed
	}
	return s
}

// Legs groups the events by the exec and waits they belong to. A call belongs to
// the leg in which the program made it: one that starts or is made anew between two
// legs belongs to the first of them.
func (r *Run) Legs() []Leg {
	b := legBuilder{calls: make(map[string]place)}
	for _, e := range r.Events {
		b.add(e)
	}
	for i := range b.legs {
		slices.SortStableFunc(b.legs[i].Calls, func(a, c Call) int { return a.Start.Compare(c.Start) })
	}
	return b.legs
}

type place struct{ leg, call int }

type legBuilder struct {
	legs  []Leg
	over  bool // the last leg has ended
	calls map[string]place
}

func (b *legBuilder) add(e Event) {
	switch e.Kind {
	case RunStarted, RunResumed:
		tool := "exec"
		if e.Kind == RunResumed {
			tool = "wait"
		}
		b.legs = append(b.legs, Leg{Tool: tool, CallID: e.CallID, Start: startOf(e), InputBytes: e.InputBytes, Input: e.Input, Rewritten: e.Rewritten})
		b.over = false
	case RunSuspended, RunEnded:
		b.end(e)
	case CallStarted, CallProgress, CallEnded, CallParked, ApprovalRequested, ApprovalDecided:
		if len(b.legs) == 0 {
			b.legs = append(b.legs, Leg{Tool: "exec", Start: startOf(e)}) // its own event is missing
		}
		b.call(e)
	}
}

// end notes how the leg ended. A run may also end while nobody drives it: then it
// is the last leg that it ends.
func (b *legBuilder) end(e Event) {
	if len(b.legs) == 0 {
		b.legs = append(b.legs, Leg{Tool: "exec", CallID: e.CallID, Start: startOf(e)})
	}
	l := &b.legs[len(b.legs)-1]
	if !b.over {
		l.Duration = e.Duration
	}
	l.Status, l.Reason, l.Code, l.Message = e.Status, e.Reason, e.Code, e.Message
	l.OutputBytes, l.Output = e.OutputBytes, e.Output
	b.over = true
}

func (b *legBuilder) call(e Event) {
	at, known := b.calls[e.CallID]
	if !known {
		leg := len(b.legs) - 1
		at = place{leg, len(b.legs[leg].Calls)}
		b.calls[e.CallID] = at
		b.legs[leg].Calls = append(b.legs[leg].Calls, Call{Event: e})
		b.legs[leg].Calls[at.call].Start = startOf(e)
	}
	c := &b.legs[at.leg].Calls[at.call]
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
		c.Ended = false // made anew after a restart
	}
}

// merge takes over what a later event knows of the call.
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
