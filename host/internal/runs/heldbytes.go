package runs

import (
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// account charges what one run holds in memory to its session: the arguments and
// answers of calls as long as the run, or its newest image, needs them; output until it
// is returned; images that are not on disk. The table of calls that has the account
// guards it.
type account struct {
	held      *quota.Meter // bytes
	suspended *quota.Meter // places for suspended runs
	stored    *quota.Meter // bytes of images in the store
	cpu       *quota.Rate  // microseconds
	owner     quota.Owner
	denied    func(*quota.Denied)

	closed                bool
	bytes, image, printed int64 // charged; the last two are parts of the first
	place                 bool  // for a suspended run
	onDisk                int64 // bytes of its image there
}

// callOverhead is about what a call takes besides its texts.
const callOverhead = 512

// heldBytes is what a call takes.
func (c *entry) heldBytes() int64 {
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
func (a *account) charge(n int64) *quota.Denied {
	if a.closed || n == 0 {
		return nil
	}
	if d := a.held.Take(a.owner, n); d != nil {
		a.denied(d)
		return d
	}
	a.bytes += n
	return nil
}

// force charges n bytes, or gives bytes back if n is negative, whatever the limits are.
func (a *account) force(n int64) {
	switch {
	case a.closed || n == 0:
		return
	case n > 0:
		a.held.Force(a.owner, n)
	default:
		a.held.Give(a.owner, -n)
	}
	a.bytes += n
}

// replace charges n bytes in place of *part.
func (a *account) replace(part *int64, n int64) *quota.Denied {
	if more := n - *part; more <= 0 {
		a.force(more)
	} else if d := a.charge(more); d != nil {
		return d
	}
	*part = n
	return nil
}

// takePlace takes a place for a suspended run, unless the run has one.
func (a *account) takePlace() *quota.Denied {
	if a.place || a.closed {
		return nil
	}
	if d := a.suspended.Take(a.owner, 1); d != nil {
		a.denied(d)
		return d
	}
	a.place = true
	return nil
}

// forcePlace is takePlace whatever the limits are.
func (a *account) forcePlace() {
	if !a.place && !a.closed {
		a.place = true
		a.suspended.Force(a.owner, 1)
	}
}

// store charges an image of n bytes in the store in place of the one before.
func (a *account) store(n int64, must bool) *quota.Denied {
	if a.closed {
		return nil
	}
	if more := n - a.onDisk; must || more <= 0 {
		a.stored.Force(a.owner, more)
	} else if d := a.stored.Take(a.owner, more); d != nil {
		a.denied(d)
		return d
	}
	a.onDisk = n
	return nil
}

// close gives back everything. Nothing is charged afterwards.
func (a *account) close() {
	a.force(-a.bytes)
	if a.place {
		a.place = false
		a.suspended.Give(a.owner, 1)
		a.stored.Give(a.owner, a.onDisk)
		a.onDisk = 0
	}
	a.closed = true
}

// chargeImage charges an image of n bytes in place of the one before.
func (t *callTable) chargeImage(n int) *quota.Denied {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.account.replace(&t.account.image, int64(n))
}

// chargeOutput charges what the run has emitted and not returned.
func (t *callTable) chargeOutput(used int64) *quota.Denied {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.account.replace(&t.account.printed, used)
}

// chargeRevived charges a run that came from the store, with an image of that many bytes.
// It was admitted once, so the limits do not count.
func (t *callTable) chargeRevived(image int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.imaged {
		t.reweigh(c)
	}
	t.account.forcePlace()
	_ = t.account.store(int64(image), true)
}

// mayBeSuspended takes a place for a suspended run with an image of that many bytes; if it
// must, whatever the limits are.
func (t *callTable) mayBeSuspended(image int, must bool) *codemode.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if must {
		t.account.forcePlace()
	}
	if d := t.account.takePlace(); d != nil {
		f := codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonTooManySuspended, codemode.PhaseHost, "too many suspended code mode runs. There is no place for one more: %v. Wait for those that there are, or abort them.", d)
		f.Err = d
		return f
	}
	if d := t.account.store(int64(image), must); d != nil {
		f := codemode.Errorf(codemode.CodeSnapshotLimit, codemode.ReasonQuota, codemode.PhaseHost, "code mode run cannot be suspended: %v. Wait for suspended runs, or abort them.", d)
		f.Err = d
		return f
	}
	return nil
}

// answerTooMuch rejects a call whose answer does not fit into the memory of the host.
func answerTooMuch(c *entry, tool *catalog.Tool, d *quota.Denied) *fault.Rejection {
	e := fault.Reject(fault.CodeQuota, "The answer does not fit into the memory of the host: %v.", d)
	if tool != nil && c.Dispatched {
		return fault.Answered(tool, e, "Ask it for less.")
	}
	e.EffectStatus = fault.EffectNone
	return e
}

// heldTooMuch is the failure of a run whose session, agent or host holds too much.
func heldTooMuch(d *quota.Denied) *codemode.Error {
	return codemode.Errorf(codemode.CodeMemoryLimit, codemode.ReasonQuota, codemode.PhaseHost, "code mode run was ended: %s. Pass less, or await calls in smaller batches.", d)
}

// lap adds the time since start to the counters and returns the counters. The caller
// holds mu.
func (t *callTable) lap(start, now time.Time) runstore.Counters {
	t.counters.WallMicros += now.Sub(start).Microseconds()
	t.counters.ApprovalMicros = t.approvalWait(now).Microseconds()
	if t.onApproval > 0 {
		t.approvalSince = now
	}
	return t.counters
}

// countedAt returns the counters as they would be after lap, and whether a tool may
// have been called.
func (t *callTable) countedAt(start, now time.Time) (c runstore.Counters, dispatched bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c = t.counters
	c.WallMicros += now.Sub(start).Microseconds()
	c.ApprovalMicros = t.approvalWait(now).Microseconds()
	return c, t.dispatched > 0
}

// computed is how long the program has computed, with what the host did for it. The driver
// alone changes and reads that.
func (t *callTable) computed() time.Duration { return computed(&t.counters) }

func computed(c *runstore.Counters) time.Duration {
	return time.Duration(int64(c.CPUMicros)+c.QueryMicros) * time.Microsecond
}

// countTurn adds what a turn has cost. The worker's word is bounded: no counter may
// overflow or count backwards.
func (t *callTable) countTurn(rep *wire.Report, memoryLimit int64) (cpu time.Duration) {
	micros := min(rep.CPUMicros, uint64(maxTurnCPU/time.Microsecond))
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counters.CPUMicros += micros
	if t.account.cpu != nil {
		t.account.cpu.Add(t.account.owner, int64(micros), time.Now())
	}
	t.counters.PeakBytes = max(t.counters.PeakBytes, min(rep.HeapPeakBytes, uint64(memoryLimit)))
	return time.Duration(micros) * time.Microsecond
}

// countQueries adds what the host did for the run as processor time of the run.
func (t *callTable) countQueries(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counters.QueryMicros += max(d.Microseconds(), 0)
}
