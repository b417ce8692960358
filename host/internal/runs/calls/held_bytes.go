package calls

import (
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/internal/wire"
)

// Account charges what one run holds in memory to its session: the arguments and
// answers of calls as long as the run, or its newest image, needs them; output until it
// is returned; images that are not on disk. The table of calls that has the account
// guards it.
type Account struct {
	Held      *quota.Meter // bytes
	Suspended *quota.Meter // places for suspended runs
	Stored    *quota.Meter // bytes of images in the store
	CPU       *quota.Rate  // microseconds
	Owner     quota.Owner
	Denied    func(*quota.Denied)

	closed                bool
	bytes, image, printed int64 // charged; the last two are parts of the first
	place                 bool  // for a suspended run
	onDisk                int64 // bytes of its image there
}

// callOverhead is about what a call takes besides its texts.
const callOverhead = 512

// heldBytes is what a call takes.
func (c *Entry) heldBytes() int64 {
	n := callOverhead + len(c.Target) + len(c.Args) + len(c.Input) + len(c.Resume) + len(c.Answer)
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

// charge charges n bytes, or says why it cannot.
func (a *Account) charge(n int64) *quota.Denied {
	if a.closed || n == 0 {
		return nil
	}
	if d := a.Held.Take(a.Owner, n); d != nil {
		a.Denied(d)
		return d
	}
	a.bytes += n
	return nil
}

// force charges n bytes, or gives bytes back if n is negative, whatever the limits are.
func (a *Account) force(n int64) {
	switch {
	case a.closed || n == 0:
		return
	case n > 0:
		a.Held.Force(a.Owner, n)
	default:
		a.Held.Give(a.Owner, -n)
	}
	a.bytes += n
}

// replace charges n bytes in place of *part.
func (a *Account) replace(part *int64, n int64) *quota.Denied {
	if more := n - *part; more <= 0 {
		a.force(more)
	} else if d := a.charge(more); d != nil {
		return d
	}
	*part = n
	return nil
}

// takePlace takes a place for a suspended run, unless the run has one.
func (a *Account) takePlace() *quota.Denied {
	if a.place || a.closed {
		return nil
	}
	if d := a.Suspended.Take(a.Owner, 1); d != nil {
		a.Denied(d)
		return d
	}
	a.place = true
	return nil
}

// forcePlace is takePlace whatever the limits are.
func (a *Account) forcePlace() {
	if !a.place && !a.closed {
		a.place = true
		a.Suspended.Force(a.Owner, 1)
	}
}

// store charges an image of n bytes in the store in place of the one before.
func (a *Account) store(n int64, must bool) *quota.Denied {
	if a.closed {
		return nil
	}
	if more := n - a.onDisk; must || more <= 0 {
		a.Stored.Force(a.Owner, more)
	} else if d := a.Stored.Take(a.Owner, more); d != nil {
		a.Denied(d)
		return d
	}
	a.onDisk = n
	return nil
}

// Close gives back everything. Nothing is charged afterwards.
func (a *Account) close() {
	a.force(-a.bytes)
	if a.place {
		a.place = false
		a.Suspended.Give(a.Owner, 1)
		a.Stored.Give(a.Owner, a.onDisk)
		a.onDisk = 0
	}
	a.closed = true
}

// ChargeImage charges an image of n bytes in place of the one before.
func (k *Costs) ChargeImage(n int) *quota.Denied {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.account.replace(&k.account.image, int64(n))
}

// ChargeOutput charges what the run has emitted and not returned.
func (k *Costs) ChargeOutput(used int64) *quota.Denied {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.account.replace(&k.account.printed, used)
}

// ChargeRevived charges a run that came from the store, with an image of that many bytes.
// It was admitted once, so the limits do not count.
func (k *Costs) ChargeRevived(image int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.imaged {
		k.reweigh(c)
	}
	k.account.forcePlace()
	_ = k.account.store(int64(image), true)
}

// MayBeSuspended takes a place for a suspended run with an image of that many bytes; if it
// must, whatever the limits are.
func (k *Costs) MayBeSuspended(image int, must bool) *codemode.Error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if must {
		k.account.forcePlace()
	}
	if d := k.account.takePlace(); d != nil {
		f := codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonTooManySuspended, codemode.PhaseHost, "too many suspended code mode runs. There is no place for one more: %v. Wait for those that there are, or abort them.", d)
		f.Err = d
		return f
	}
	if d := k.account.store(int64(image), must); d != nil {
		f := codemode.Errorf(codemode.CodeSnapshotLimit, codemode.ReasonQuota, codemode.PhaseHost, "code mode run cannot be suspended: %v. Wait for suspended runs, or abort them.", d)
		f.Err = d
		return f
	}
	return nil
}

// answerTooMuch rejects a call with an answer that does not fit into the memory of the host.
func answerTooMuch(c *Entry, tool *catalog.Tool, d *quota.Denied) *fault.Rejection {
	e := fault.Reject(fault.CodeQuota, "The answer does not fit into the memory of the host: %v.", d)
	if tool != nil && c.Dispatched {
		return fault.Answered(tool, e, "Ask it for less.")
	}
	e.EffectStatus = fault.EffectNone
	return e
}

// HeldTooMuch returns the failure of a run when its session, agent or host holds too much.
func HeldTooMuch(d *quota.Denied) *codemode.Error {
	return codemode.Errorf(codemode.CodeMemoryLimit, codemode.ReasonQuota, codemode.PhaseHost, "code mode run was ended: %s. Pass less, or await calls in smaller batches.", d)
}
