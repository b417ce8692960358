package calls

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// pending are the calls that the guest waits for, with the bytes that they take. Its mutex
// guards all parts of the table.
type pending struct {
	mu      CountedMutex
	byID    map[uint64]*Entry
	account Account

	changes uint64   // counts changes of calls
	written uint64   // the changes that the store knows
	imaged  []*Entry // calls that the stored image waits for
}

// Entry is one bridge call in the table, between its request and its delivery. The mutex of
// the table guards it.
type Entry struct {
	runstore.Call
	changed  uint64 // pending.changes when the call last changed
	charged  int64  // bytes
	imaged   bool   // the newest image waits for it
	cancel   context.CancelCauseFunc
	Asking   bool // it is one of the session's questions to people
	Repeated bool // an earlier host may have made it
	changing bool // it counts in Costs.changing
}

// sorted returns the pending calls in request order. The caller holds mu, here and below.
func (p *pending) sorted() []*Entry {
	out := make([]*Entry, 0, len(p.byID))
	for _, c := range p.byID {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b *Entry) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// touch notes that a call has changed.
func (p *pending) touch(c *Entry) {
	p.changes++
	c.changed = p.changes
}

// reweigh charges a call as it is now.
func (p *pending) reweigh(c *Entry) {
	n := c.heldBytes()
	p.account.force(n - c.charged)
	c.charged = n
}

// remove removes a call from the table. Its bytes stay charged as long as the newest
// image waits for it.
func (p *pending) remove(c *Entry) {
	delete(p.byID, c.ID)
	if !c.imaged {
		p.account.force(-c.charged)
		c.charged = 0
	}
}

// cancelCalls ends the contexts of calls that are not settled. The promises of the
// guest have rejected; the calls stay pending until their tools have returned. The
// journal gets the cancellation too: the next host must not make a call that was
// cancelled in the queue.
func (p *pending) cancelCalls(ids []uint64) {
	for _, id := range ids {
		c := p.byID[id]
		if c == nil || c.GivenUp || c.State == runstore.CallSettled {
			continue
		}
		c.GivenUp = true
		p.touch(c)
		if c.cancel != nil {
			c.cancel(ErrCancelled)
		}
	}
}

func (p *pending) setImaged(calls []*Entry) {
	for _, c := range p.imaged {
		c.imaged = false
		if p.byID[c.ID] != c {
			p.account.force(-c.charged)
			c.charged = 0
		}
	}
	for _, c := range calls {
		c.imaged = true
	}
	p.imaged = calls
}

// takeImage makes the pending calls the calls that the newest image waits for, and
// returns them as a record holds them.
func (p *pending) takeImage(identify func(*Entry)) []runstore.Call {
	p.setImaged(p.sorted())
	p.written = p.changes
	out := make([]runstore.Call, 0, len(p.imaged))
	for _, c := range p.imaged {
		identify(c)
		out = append(out, c.Call)
	}
	return out
}

// answerBytes is the size of the answers of calls.
func answerBytes(calls iter.Seq[*Entry]) (n int) {
	for c := range calls {
		n += len(c.Answer)
	}
	return n
}

// PublicID names a call in results and events.
func PublicID(c *runstore.Call) string {
	return "bridge:" + c.Method + ":" + strconv.FormatUint(c.ID, 10)
}

// PublicID names the call in results and events.
func (c *Entry) PublicID() string { return PublicID(&c.Call) }

// IsTool reports whether the call runs a tool.
func (c *Entry) IsTool() bool {
	switch wire.Method(c.Method) {
	case wire.MethodCall, wire.MethodNamespace, wire.MethodMCP, wire.MethodProgram, wire.MethodSave:
		return true
	}
	return false
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

func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// MethodExec is the method of the call that stands for the program itself while a
// person decides whether it may start. No call of a guest has its id, 0.
const MethodExec = "exec"
