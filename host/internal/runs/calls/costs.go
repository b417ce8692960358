package calls

import (
	"time"

	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Costs are what a run has used so far, and whether its calls may have taken effect.
type Costs struct {
	*pending
	counters      runstore.Counters
	dispatched    int       // tools that may have taken effect
	changing      int       // dispatched tools that are not read-only, and have not said that they had no effect
	onApproval    int       // calls in flight that wait for a person
	approvalSince time.Time // when onApproval last rose from 0
}

// MarkDispatched notes that the tool of a call may take effect from now on. It reports
// whether that is new.
func (k *Costs) MarkDispatched(c *Entry, changing bool) (first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if first = !c.Dispatched; first {
		c.Dispatched = true
		k.dispatched++
		if c.changing = changing; changing {
			k.changing++
		}
	}
	return first
}

// UnmarkDispatched undoes MarkDispatched: the tool has said that it took no effect.
func (k *Costs) UnmarkDispatched(c *Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c.Dispatched = false
	k.dispatched--
	k.unmarkChanging(c)
}

// unmarkChanging notes that a call has had no effect. The caller holds mu.
func (k *Costs) unmarkChanging(c *Entry) {
	if c.changing {
		c.changing = false
		k.changing--
	}
}

// IsUnchanged reports whether no tool that was called can have changed anything.
func (k *Costs) IsUnchanged() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.dispatched > 0 && k.changing == 0
}

// Lap adds the time since start to the counters and returns the counters. The caller
// holds mu.
func (k *Costs) Lap(start, now time.Time) runstore.Counters {
	k.counters.WallMicros += now.Sub(start).Microseconds()
	k.counters.ApprovalMicros = k.approvalWait(now).Microseconds()
	if k.onApproval > 0 {
		k.approvalSince = now
	}
	return k.counters
}

// CountedAt returns the counters as they would be after lap, and whether a tool may
// have been called.
func (k *Costs) CountedAt(start, now time.Time) (c runstore.Counters, dispatched bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	c = k.counters
	c.WallMicros += now.Sub(start).Microseconds()
	c.ApprovalMicros = k.approvalWait(now).Microseconds()
	return c, k.dispatched > 0
}

// approvalWait is how long the run has waited for people until now. The caller holds mu.
func (k *Costs) approvalWait(now time.Time) time.Duration {
	d := time.Duration(k.counters.ApprovalMicros) * time.Microsecond
	if k.onApproval > 0 {
		d += now.Sub(k.approvalSince)
	}
	return d
}

// Computed is how long the program has Computed, with what the host did for it. The driver
// alone changes and reads that.
func (k *Costs) Computed() time.Duration { return Computed(&k.counters) }

func Computed(c *runstore.Counters) time.Duration {
	return time.Duration(int64(c.CPUMicros)+c.QueryMicros) * time.Microsecond
}

// CountTurn adds what a turn has cost. The worker's word is bounded: no counter may
// overflow or count backwards.
func (k *Costs) CountTurn(rep *wire.Report, memoryLimit int64) (cpu time.Duration) {
	micros := min(rep.CPUMicros, uint64(maxTurnCPU/time.Microsecond))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counters.CPUMicros += micros
	if k.account.CPU != nil {
		k.account.CPU.Add(k.account.Owner, int64(micros), time.Now())
	}
	k.counters.PeakBytes = max(k.counters.PeakBytes, min(rep.HeapPeakBytes, uint64(memoryLimit)))
	return time.Duration(micros) * time.Microsecond
}

// maxTurnCPU is more processor time than any turn takes. A worker that reports more
// lies, and its run has used up its budget.
const maxTurnCPU = 2 * time.Hour

// CountQueries adds what the host did for the run as processor time of the run.
func (k *Costs) CountQueries(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.counters.QueryMicros += max(d.Microseconds(), 0)
}
