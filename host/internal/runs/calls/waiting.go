package calls

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// How often a run may ask people: a person who is asked without end does not read
// what is asked.
//
// questionsASpan is how many it may ask within Times.QuestionSpan.
const questionsASpan = 40

// AskedTooOften denies a call because of the questions that its run has asked.
type AskedTooOften struct {
	limit int64
	span  time.Duration // 0: the whole run
}

func (e *AskedTooOften) Error() string {
	if e.span > 0 {
		return fmt.Sprintf("it needs an approval, and its run has asked for %d within %v, which is the limit; wait before you ask again", e.limit, e.span)
	}
	return fmt.Sprintf("it needs an approval, and its run has asked for %d, which is the limit (tools.codeMode.maxApprovals)", e.limit)
}

// MayAsk accounts for one more question of the run.
func (t *Table) MayAsk(now time.Time, limit int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if int64(t.counters.Approvals) >= limit {
		return &AskedTooOften{limit: limit}
	}
	recent := t.questions[:0]
	for _, at := range t.questions {
		if now.Sub(at) < t.times.QuestionSpan {
			recent = append(recent, at)
		}
	}
	if t.questions = recent; len(recent) >= questionsASpan {
		return &AskedTooOften{limit: questionsASpan, span: t.times.QuestionSpan}
	}
	t.questions = append(recent, now)
	return nil
}

// QuestionAsked notes that a person is asked about a call, or that its tool asks one. It
// counts from now on, so that a record has the call and the count, or neither.
func (t *Table) QuestionAsked(c *Entry, approval string, input, resume []byte, keep time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counters.Approvals++
	c.Resume, c.KeepUntil = resume, keep
	t.setApproval(c, runstore.CallApproval, approval, input)
}

// NextRound counts a round of questions of a call's tool, and returns how many there were.
func (t *Table) NextRound(c *Entry) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Rounds++
	return c.Rounds
}

// AwaitsAnswer reports whether a call waits for a person or for the client.
func (t *Table) AwaitsAnswer(c *Entry) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return c.State == runstore.CallApproval || c.State == runstore.CallAsked
}

// Judged notes which saved program a person is about to be asked about.
func (t *Table) Judged(c *Entry, program string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.Program = program
}

// SetHeld notes which approval the tool of a call in flight waits for, "" for no more, and
// how many more questions count.
func (t *Table) SetHeld(c *Entry, approval string, more int, keep time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counters.Approvals += more
	c.Held, c.KeepUntil = approval, keep
	t.touch(c)
}

// KeepUntil is the time before which the run does not expire, because of what people are
// asked about its calls.
func (t *Table) KeepUntil() (keep time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.pending {
		keep = Later(keep, c.KeepUntil)
	}
	return keep
}

func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// UnholdAll forgets what tools of an earlier host waited for, and returns those calls as
// they were.
func (t *Table) UnholdAll() (held []runstore.Call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.sorted() {
		if c.Held != "" {
			held = append(held, c.Call)
			c.Held = ""
			t.touch(c)
		}
	}
	return held
}

// AwaitedApproval returns the id of the approval that a call waits for, or "".
func AwaitedApproval(c *runstore.Call) string {
	if c.State == runstore.CallApproval {
		return c.Approval
	}
	if c.State == runstore.CallSettled {
		return ""
	}
	return c.Held
}

// Approved notes how the approval of a call came out. The tool still has to get what it
// asked to get back.
func (t *Table) Approved(c *Entry, approval string, input []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.KeepUntil = time.Time{}
	t.setApproval(c, runstore.CallInFlight, approval, input)
}

// NotAsked notes that no one was asked about a call although its host was about to. A
// question that was counted counts no more.
func (t *Table) NotAsked(c *Entry, counted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if counted {
		t.counters.Approvals--
	}
	c.Resume, c.KeepUntil = nil, time.Time{}
	t.setApproval(c, runstore.CallInFlight, "", nil)
}

func (t *Table) setApproval(c *Entry, state runstore.CallState, approval string, input []byte) {
	c.State, c.Approval, c.Input = state, approval, input
	t.reweigh(c)
	t.touch(c)
}

// ApprovalStarts notes that one more call waits for a person.
func (t *Table) ApprovalStarts(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.onApproval++; t.onApproval == 1 {
		t.approvalSince = now
	}
	t.tellWithin(now, t.times.QuestionGrace)
}

// tellWithin notes that the caller is to hear of a call within that time. The caller holds
// mu.
func (t *Table) tellWithin(now time.Time, grace time.Duration) {
	if by := now.Add(grace); t.tellBy.IsZero() || by.Before(t.tellBy) {
		t.tellBy = by
	}
}

// Told notes that the caller hears of all calls that wait for an answer.
func (t *Table) Told() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tellBy = time.Time{}
}

// answerCame notes that a call waits for an answer no more. The caller holds mu.
func (t *Table) answerCame() {
	if t.onApproval == 0 && t.onClient == 0 {
		t.tellBy = time.Time{}
	}
}

// ApprovalEnds notes that one call less waits for a person.
func (t *Table) ApprovalEnds(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.onApproval--; t.onApproval == 0 {
		t.counters.ApprovalMicros += now.Sub(t.approvalSince).Microseconds()
	}
	t.answerCame()
}

// approvalWait is how long the run has waited for people until now. The caller holds mu.
func (t *Table) approvalWait(now time.Time) time.Duration {
	d := time.Duration(t.counters.ApprovalMicros) * time.Microsecond
	if t.onApproval > 0 {
		d += now.Sub(t.approvalSince)
	}
	return d
}

// clientCall is a call that the run's client is to answer.
type clientCall struct {
	answer  chan codemode.ToolAnswer // capacity 1
	settled chan struct{}            // closed once the answer is in the run, and in the store of a stored one
}

// MethodOfAsked is the method of calls that a caller answers: namespaces reach
// only tools of plugins.
const MethodOfAsked = string(wire.MethodCall)

// AskClient makes a call wait for the client and returns where the answer will be.
func (t *Table) AskClient(c *Entry, input json.RawMessage, now time.Time) (<-chan codemode.ToolAnswer, *quota.Denied) {
	t.mu.Lock()
	defer t.mu.Unlock()
	more := int64(len(input) - len(c.Input)) // an approved call, or one of another host, has it already
	if more <= 0 {
		t.account.force(more)
	} else if d := t.account.charge(more); d != nil {
		return nil, d
	}
	c.State, c.Input = runstore.CallAsked, input
	c.charged += more
	t.onClient++
	t.tellWithin(now, t.times.ClientGrace)
	t.touch(c)
	return t.clientCall(c.ID).answer, nil
}

// ClientAnswered notes that a call no longer waits for the client.
func (t *Table) ClientAnswered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onClient--
	t.answerCame()
}

// clientCall returns the place for the client's answer to a call, which may come before
// the call waits for it. The caller holds mu.
func (t *Table) clientCall(id uint64) *clientCall {
	a := t.clientCalls[id]
	if a == nil {
		a = &clientCall{answer: make(chan codemode.ToolAnswer, 1), settled: make(chan struct{})}
		if t.clientCalls == nil {
			t.clientCalls = make(map[uint64]*clientCall)
		}
		t.clientCalls[id] = a
	}
	return a
}

// GiveAnswer hands an answer to its call and returns what is closed once it is taken.
func (t *Table) GiveAnswer(callID string, answer codemode.ToolAnswer, asksClient func(*Entry) bool) (<-chan struct{}, *codemode.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, id := range t.answered {
		if PublicID(&runstore.Call{ID: id, Method: MethodOfAsked}) != callID {
			continue
		}
		if a := t.clientCalls[id]; a != nil {
			return a.settled, nil
		}
		return closed, nil
	}
	for _, c := range t.pending {
		if c.PublicID() == callID && asksClient(c) {
			if c.State == runstore.CallSettled { // in an earlier process
				return closed, nil
			}
			a := t.clientCall(c.ID)
			t.answered = append(t.answered, c.ID)
			a.answer <- answer
			return a.settled, nil
		}
	}
	return nil, codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseInput,
		"the run waits for no answer to %q. Answer the calls in pendingToolCalls that have an input or inputBytes.", text.Cut(callID, 64))
}

// closed is a channel with nothing to wait for.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

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
		Pending:     len(t.pending) > 0,
		Deliverable: len(t.inbox) > 0,
		// Every call in flight waits for the client or a person, so queued calls do not start.
		BlockedOnClient: t.onClient > 0 && t.unwritten == 0 && len(t.inbox) == 0 && t.onClient+t.onApproval == t.inFlight,
		TellBy:          t.tellBy,
	}
	if t.unwritten == 0 && len(t.inbox) == 0 && t.onApproval == t.inFlight {
		s.BlockedOnPeople = t.onApproval
	}
	return s
}

// AwaitedApprovals returns the ids of the approvals that calls wait for.
func (t *Table) AwaitedApprovals() (ids []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.sorted() {
		if id := AwaitedApproval(&c.Call); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}
