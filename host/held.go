package host

import (
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/internal/wire"
)

// What a run makes the host hold in memory is charged to its session: the arguments and
// answers of its calls as long as the run, or the account of its newest image, needs
// them; output until it is returned; images that are not on disk. It is copied out of
// the message it came in, so that a small part does not keep a large whole.

// callOverhead is what a call takes besides its texts, about.
const callOverhead = 512

// heldBytes is what a call takes.
func (c *call) heldBytes() int64 {
	n := callOverhead + len(c.Target) + len(c.Args) + len(c.Input) + len(c.Answer)
	for _, p := range c.Path {
		n += len(p)
	}
	return int64(n)
}

// requestBytes is what the calls of one burst will take.
func requestBytes(reqs []wire.Request) (n int64) {
	for _, q := range reqs {
		n += callOverhead + int64(len(q.Target)+len(q.Args))
		for _, p := range q.Path {
			n += int64(len(p))
		}
	}
	return n
}

// charge charges n bytes, or says why not. The caller holds mu.
func (r *run) charge(n int64) *quota.Denied {
	if r.ended || n == 0 {
		return nil
	}
	if d := r.h.meters.held.Take(r.session.Owner(), n); d != nil {
		r.h.ReportDenied(r.session, d)
		return d
	}
	r.charged += n
	return nil
}

// chargeAnyway charges, or with a negative n gives back, whatever the limits say. The
// caller holds mu.
func (r *run) chargeAnyway(n int64) {
	switch {
	case r.ended || n == 0:
		return
	case n > 0:
		r.h.meters.held.Force(r.session.Owner(), n)
	default:
		r.h.meters.held.Give(r.session.Owner(), -n)
	}
	r.charged += n
}

// reweigh charges a call as it is now. The caller holds mu.
func (r *run) reweigh(c *call) {
	n := c.heldBytes()
	r.chargeAnyway(n - c.charged)
	c.charged = n
}

// chargeRevived charges a run that came from the store. It was let in once. The caller
// holds mu.
func (r *run) chargeRevived() {
	for _, c := range r.imaged {
		r.reweigh(c)
	}
	r.suspends(true)
}

// drop takes a call off the run's list, and off its account unless the newest image
// waits for it. The caller holds mu.
func (r *run) drop(c *call) {
	delete(r.calls, c.ID)
	if !c.imaged {
		r.chargeAnyway(-c.charged)
		c.charged = 0
	}
}

// setImaged makes the pending calls those that the newest image waits for. The
// caller holds mu.
func (r *run) setImaged(calls []*call) {
	for _, c := range r.imaged {
		c.imaged = false
		if r.calls[c.ID] != c {
			r.chargeAnyway(-c.charged)
			c.charged = 0
		}
	}
	for _, c := range calls {
		c.imaged = true
	}
	r.imaged = calls
}

// chargeImage charges an image of n bytes in place of the one before.
func (r *run) chargeImage(n int) *failure {
	if d := r.takeImage(n); d != nil {
		return heldTooMuch(d)
	}
	return nil
}

// takeImage is chargeImage for a run that is not ended by a refusal.
func (r *run) takeImage(n int) *quota.Denied {
	r.mu.Lock()
	defer r.mu.Unlock()
	more := int64(n) - r.chargedImage
	if more > 0 {
		if d := r.charge(more); d != nil {
			return d
		}
	} else {
		r.chargeAnyway(more)
	}
	r.chargedImage = int64(n)
	return nil
}

// chargeOutput charges what the run has emitted and not returned.
func (r *run) chargeOutput() *failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	more := r.output.used - r.chargedOutput
	if more > 0 {
		if d := r.charge(more); d != nil {
			return heldTooMuch(d)
		}
	} else {
		r.chargeAnyway(more)
	}
	r.chargedOutput = r.output.used
	return nil
}

// answerTooMuch rejects a call whose answer there is no room for.
func (r *run) answerTooMuch(c *call, d *quota.Denied) *callError {
	e := rejectf(codeQuota, "The answer does not fit into the memory of the host: %v.", d)
	if tool, ok := r.view().catalog.ByID(c.Tool); ok && c.Dispatched {
		return answered(tool, e, "Ask it for less.")
	}
	e.EffectStatus = effectNone
	return e
}

// giveBack returns what an ending run has of its session's share. The caller holds mu.
func (r *run) giveBack() {
	r.chargeAnyway(-r.charged)
	r.suspends(false)
}

// suspends takes or gives back a place for a suspended run, whatever the limits say.
// The caller holds mu.
func (r *run) suspends(is bool) {
	if is == r.suspended {
		return
	}
	r.suspended = is
	m, owner := r.h.meters.suspended, r.session.Owner()
	if is {
		m.Force(owner, 1)
	} else {
		m.Give(owner, 1)
	}
}

// maySuspend takes a place for a suspended run, unless the run has one. The caller
// holds mu.
func (r *run) maySuspend() *failure {
	if r.suspended || r.ended {
		return nil
	}
	if r.h.isClosing() {
		r.suspends(true)
		return nil
	}
	if d := r.h.meters.suspended.Take(r.session.Owner(), 1); d != nil {
		r.h.ReportDenied(r.session, d)
		return failf(CodeInvalidInput, ReasonTooManySuspended, PhaseHost, "too many suspended code mode runs. There is no place for one more: %v. Wait for those that there are, or abort them.", d)
	}
	r.suspended = true
	return nil
}

// heldTooMuch is the failure of a run whose session, agent or host holds too much.
func heldTooMuch(d *quota.Denied) *failure {
	return failf(CodeMemoryLimit, ReasonQuota, PhaseHost, "code mode run was ended: %s. Pass less, or await calls in smaller batches.", d)
}
