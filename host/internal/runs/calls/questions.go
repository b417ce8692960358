package calls

import (
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/runstore"
)

// Questions are what people and the client are asked about the calls of a run.
type Questions struct {
	*pending
	costs *Costs
	times *timing.Times

	asked  []time.Time // the newest questions to people
	tellBy time.Time   // when the caller is to hear of calls that wait for an answer; zero: it has

	clientCalls map[uint64]*clientCall
	answered    []uint64 // calls that the client has answered
	onClient    int      // calls in flight that the client is to answer
}

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
func (q *Questions) MayAsk(now time.Time, limit int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if int64(q.costs.counters.Approvals) >= limit {
		return &AskedTooOften{limit: limit}
	}
	recent := q.asked[:0]
	for _, at := range q.asked {
		if now.Sub(at) < q.times.QuestionSpan {
			recent = append(recent, at)
		}
	}
	if q.asked = recent; len(recent) >= questionsASpan {
		return &AskedTooOften{limit: questionsASpan, span: q.times.QuestionSpan}
	}
	q.asked = append(recent, now)
	return nil
}

// Asked notes that a person is asked about a call, or that its tool asks one. It
// counts from now on, so that a record has the call and the count, or neither.
func (q *Questions) Asked(c *Entry, approval string, input, resume []byte, keep time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.costs.counters.Approvals++
	c.Resume, c.KeepUntil = resume, keep
	q.setApproval(c, runstore.CallApproval, approval, input)
}

// NotAsked notes that no one was asked about a call although its host was about to. A
// question that was counted counts no more.
func (q *Questions) NotAsked(c *Entry, counted bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if counted {
		q.costs.counters.Approvals--
	}
	c.Resume, c.KeepUntil = nil, time.Time{}
	q.setApproval(c, runstore.CallInFlight, "", nil)
}

// NextRound counts a round of questions of a call's tool, and returns how many there were.
func (q *Questions) NextRound(c *Entry) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.Rounds++
	return c.Rounds
}

// Judged notes which saved program a person is about to be asked about.
func (q *Questions) Judged(c *Entry, program string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.Program = program
}

// SetHeld notes which approval the tool of a call in flight waits for, "" for no more, and
// how many more questions count.
func (q *Questions) SetHeld(c *Entry, approval string, more int, keep time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.costs.counters.Approvals += more
	c.Held, c.KeepUntil = approval, keep
	q.touch(c)
}

// UnholdAll forgets what tools of an earlier host waited for, and returns those calls as
// they were.
func (q *Questions) UnholdAll() (held []runstore.Call) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.sorted() {
		if c.Held != "" {
			held = append(held, c.Call)
			c.Held = ""
			q.touch(c)
		}
	}
	return held
}

// Approved notes how the approval of a call came out. The tool still has to get what it
// asked to get back.
func (q *Questions) Approved(c *Entry, approval string, input []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c.KeepUntil = time.Time{}
	q.setApproval(c, runstore.CallInFlight, approval, input)
}

func (q *Questions) setApproval(c *Entry, state runstore.CallState, approval string, input []byte) {
	c.State, c.Approval, c.Input = state, approval, input
	q.reweigh(c)
	q.touch(c)
}

// KeepUntil is the time before which the run does not expire, because of what people are
// asked about its calls.
func (q *Questions) KeepUntil() (keep time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.byID {
		keep = Later(keep, c.KeepUntil)
	}
	return keep
}

// AwaitsAnswer reports whether a call waits for a person or for the client.
func (q *Questions) AwaitsAnswer(c *Entry) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return c.State == runstore.CallApproval || c.State == runstore.CallAsked
}

// AwaitedApprovals returns the ids of the approvals that calls wait for.
func (q *Questions) AwaitedApprovals() (ids []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.sorted() {
		if id := AwaitedApproval(&c.Call); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// ApprovalStarts notes that one more call waits for a person.
func (q *Questions) ApprovalStarts(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.costs.onApproval++; q.costs.onApproval == 1 {
		q.costs.approvalSince = now
	}
	q.tellWithin(now, q.times.QuestionGrace)
}

// ApprovalEnds notes that one call less waits for a person.
func (q *Questions) ApprovalEnds(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.costs.onApproval--; q.costs.onApproval == 0 {
		q.costs.counters.ApprovalMicros += now.Sub(q.costs.approvalSince).Microseconds()
	}
	q.answerCame()
}

// tellWithin notes that the caller is to hear of a call within that time. The caller holds
// mu.
func (q *Questions) tellWithin(now time.Time, grace time.Duration) {
	if by := now.Add(grace); q.tellBy.IsZero() || by.Before(q.tellBy) {
		q.tellBy = by
	}
}

// Told notes that the caller hears of all calls that wait for an answer.
func (q *Questions) Told() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tellBy = time.Time{}
}

// answerCame notes that a call waits for an answer no more. The caller holds mu.
func (q *Questions) answerCame() {
	if q.costs.onApproval == 0 && q.onClient == 0 {
		q.tellBy = time.Time{}
	}
}
