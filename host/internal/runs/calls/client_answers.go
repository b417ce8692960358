package calls

import (
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
	"github.com/quoinhq/quoin/internal/wire"
)

// clientCall is a call that the run's client is to answer.
type clientCall struct {
	answer  chan codemode.ToolAnswer // capacity 1
	settled chan struct{}            // closed once the answer is in the run, and in the store of a stored one
}

// MethodOfAsked is the method of calls that a caller answers: namespaces reach
// only tools of plugins.
const MethodOfAsked = string(wire.MethodCall)

// AskClient makes a call wait for the client and returns where the answer will be.
func (q *Questions) AskClient(c *Entry, input json.RawMessage, now time.Time) (<-chan codemode.ToolAnswer, *quota.Denied) {
	q.mu.Lock()
	defer q.mu.Unlock()
	more := int64(len(input) - len(c.Input)) // an approved call, or one of another host, has it already
	if more <= 0 {
		q.account.force(more)
	} else if d := q.account.charge(more); d != nil {
		return nil, d
	}
	c.State, c.Input = runstore.CallAsked, input
	c.charged += more
	q.onClient++
	q.tellWithin(now, q.times.ClientGrace)
	q.touch(c)
	return q.clientCall(c.ID).answer, nil
}

// ClientAnswered notes that a call no longer waits for the client.
func (q *Questions) ClientAnswered() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.onClient--
	q.answerCame()
}

// clientCall returns the place for the client's answer to a call, which may come before
// the call waits for it. The caller holds mu.
func (q *Questions) clientCall(id uint64) *clientCall {
	a := q.clientCalls[id]
	if a == nil {
		a = &clientCall{answer: make(chan codemode.ToolAnswer, 1), settled: make(chan struct{})}
		if q.clientCalls == nil {
			q.clientCalls = make(map[uint64]*clientCall)
		}
		q.clientCalls[id] = a
	}
	return a
}

// GiveAnswer hands an answer to its call and returns what is closed once it is taken.
func (q *Questions) GiveAnswer(callID string, answer codemode.ToolAnswer, asksClient func(*Entry) bool) (<-chan struct{}, *codemode.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range q.answered {
		if PublicID(&runstore.Call{ID: id, Method: MethodOfAsked}) != callID {
			continue
		}
		if a := q.clientCalls[id]; a != nil {
			return a.settled, nil
		}
		return closed, nil
	}
	for _, c := range q.byID {
		if c.PublicID() == callID && asksClient(c) {
			if c.State == runstore.CallSettled { // in an earlier process
				return closed, nil
			}
			a := q.clientCall(c.ID)
			q.answered = append(q.answered, c.ID)
			a.answer <- answer
			return a.settled, nil
		}
	}
	return nil, codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseInput,
		"the run waits for no answer to %q. Answer the calls in pendingToolCalls that have an input or inputBytes.", text.Cut(callID, 64))
}

// settled ends the wait of who has answered a call. The caller holds mu.
func (q *Questions) settled(c *Entry) {
	if a := q.clientCalls[c.ID]; a != nil {
		delete(q.clientCalls, c.ID)
		close(a.settled)
	}
}

// closed is a channel with nothing to wait for.
var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
