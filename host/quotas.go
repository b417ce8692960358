package host

import (
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/text"
)

// meters are what a host shares out.
type meters struct {
	held, workers, suspended, approvals *quota.Meter

	mu      sync.Mutex
	warned  map[string]time.Time // by meter and whose limit
	skipped map[string]int
}

func newMeters(c *engineConfig, s Settings) *meters {
	shares := quota.SharesOf(c.quotas)
	return &meters{
		held:      quota.NewMeter("held_bytes", "bytes of arguments, answers, output and images", "quotas.heldBytes", c.quotas.HeldBytes, shares),
		workers:   quota.NewMeter("workers", "guest workers", "guest.maxWorkers", int64(c.maxWorkers), shares),
		suspended: quota.NewMeter("suspended_runs", "suspended runs", "tools.codeMode.maxSuspendedRuns", s.MaxSuspended, shares),
		approvals: quota.NewMeter("pending_approvals", "calls that wait for a person", "", policy.DefaultMaxPending, shares),
		warned:    map[string]time.Time{}, skipped: map[string]int{},
	}
}

// denialPause is how often the log has a warning of one kind. Metrics count them all.
const denialPause = time.Second

// ReportDenied is Host.ReportDenied.
func (e *engine) ReportDenied(s Session, d *quota.Denied) {
	e.obs.Metrics.Denied(d.Name, string(d.Whose))
	m, key := e.meters, d.Name+" "+string(d.Whose)
	m.mu.Lock()
	now := time.Now()
	if now.Sub(m.warned[key]) < denialPause {
		m.skipped[key]++
		m.mu.Unlock()
		return
	}
	skipped := m.skipped[key]
	m.warned[key], m.skipped[key] = now, 0
	m.mu.Unlock()
	e.log.Warn("a quota is used up", "quota", d.Name, "of", string(d.Whose), "used", d.Used, "limit", d.Limit, "wanted", d.Wanted,
		"agent", text.Cut(s.AgentID, 128), "sessionKey", text.Cut(s.SessionKey, 128), "sessionId", text.Cut(s.SessionID, 128), "sinceLast", skipped)
}
