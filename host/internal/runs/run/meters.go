package run

import (
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/policy"
)

// Meters are what a host shares out.
type meters struct {
	Held, Workers, Suspended, Approvals *quota.Meter
	Stored, Calls                       *quota.Meter
	cpu                                 *quota.Rate // in microseconds

	mu      sync.Mutex
	warned  map[string]time.Time // by meter and kind of limit
	skipped map[string]int
}

func NewMeters(q codemode.Quotas, maxWorkers int, s codemode.Settings) *meters {
	shares := quota.SharesOf(q)
	return &meters{
		Held:      quota.NewMeter("held_bytes", "bytes of arguments, answers, output and images", "quotas.heldBytes", q.HeldBytes, shares),
		Workers:   quota.NewMeter("workers", "guest workers", "guest.maxWorkers", int64(maxWorkers), shares),
		Suspended: quota.NewMeter("suspended_runs", "suspended runs", "tools.codeMode.maxSuspendedRuns", s.MaxSuspended, shares),
		Approvals: quota.NewMeter("pending_approvals", "calls that wait for a person", "", policy.DefaultMaxPending, shares),
		Stored:    quota.NewMeter("stored_bytes", "bytes of suspended runs", "quotas.storedBytes", q.StoredBytes, shares),
		Calls:     quota.NewMeter("calls_in_flight", "tool calls in flight", "quotas.callsInFlight", q.Calls, shares),
		cpu:       quota.NewRate("cpu", "seconds of guest processor time in the last hour", "quotas.cpuSecondsPerHour", q.CPUSecondsPerHour, 1e6, shares),
		warned:    map[string]time.Time{}, skipped: map[string]int{},
	}
}

// UsedUp is the failure of a run that may not compute now.
func (e *Env) UsedUp(s codemode.Session) *codemode.Error {
	d := e.Meters.cpu.Denied(quota.OwnerOf(s), time.Now())
	if d == nil {
		return nil
	}
	e.ReportDenied(s, d)
	return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonQuota, codemode.PhaseHost, "code mode run cannot compute now: %v. Try again later.", d)
}
