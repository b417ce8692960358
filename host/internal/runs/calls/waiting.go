package calls

import (
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Status is what a driver has to know of the calls to decide whether it waits.
type Status struct {
	Pending         bool      // there are calls
	Deliverable     bool      // an answer waits for the guest
	BlockedOnClient bool      // nothing happens until the client answers a call
	BlockedOnPeople int       // so many calls wait for people, and nothing else happens
	TellBy          time.Time // when the caller is to hear of calls that wait for an answer; zero: it has
}

// Status returns the Status of this moment.
func (t *Table) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := Status{
		Pending:     len(t.byID) > 0,
		Deliverable: len(t.inbox) > 0,
		// Every call in flight waits for the client or a person, so queued calls do not start.
		BlockedOnClient: t.Questions.onClient > 0 && t.unwritten == 0 && len(t.inbox) == 0 && t.Questions.onClient+t.Costs.onApproval == t.inFlight,
		TellBy:          t.Questions.tellBy,
	}
	if t.unwritten == 0 && len(t.inbox) == 0 && t.Costs.onApproval == t.inFlight {
		s.BlockedOnPeople = t.Costs.onApproval
	}
	return s
}

// Describe lists the calls that the guest still needs answers to, and the reason to give for
// waiting. See Describe.
func (t *Table) Describe(room int64) ([]codemode.PendingCall, codemode.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sorted := t.sorted()
	calls := make([]*runstore.Call, len(sorted))
	for i, c := range sorted {
		calls[i] = &c.Call
	}
	return Describe(calls, room)
}

// Describe describes pending calls. The reason is yield only if every call is a
// yield, and approval if a person has to decide about a call, unless the client has to
// answer another call. Inputs that the client is to answer share room bytes; of an
// input beyond that, only the size is given.
func Describe(calls []*runstore.Call, room int64) ([]codemode.PendingCall, codemode.Reason) {
	reason, client, approval := codemode.ReasonYield, false, false
	out := []codemode.PendingCall{}
	for _, c := range calls {
		p := codemode.PendingCall{ID: PublicID(c), Method: c.Method, Tool: c.Tool}
		switch {
		case c.State == runstore.CallAsked:
			client = true
			if size := int64(len(c.Input)); size <= room {
				p.Input, room = c.Input, room-size
			} else {
				p.InputBytes = size
			}
		case AwaitedApproval(c) != "":
			approval = true
		}
		if c.Method == string(wire.MethodCall) && p.Tool == "" {
			p.Tool = c.Target
		}
		if c.Method != string(wire.MethodYield) {
			reason = codemode.ReasonPendingTools
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		reason = codemode.ReasonTimer
	}
	if approval && !client {
		reason = codemode.ReasonApproval
	}
	return out, reason
}
