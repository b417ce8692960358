package host

import (
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/text"
)

// Quotas bound what a host holds, and what one session or agent may have of it. The
// zero value of each field means its default; a value outside its range is clamped.
type Quotas struct {
	// SessionPercent is the share that one session may have of each: suspended runs,
	// guest workers, pending approvals, held bytes, and of what a server adds. Defaults
	// to 50; 1 to 100. Callers without an identity are one session.
	SessionPercent int64
	// AgentPercent is the share that all sessions of one agent may have together.
	// Defaults to 100; 1 to 100.
	AgentPercent int64
	// HeldBytes bounds what all runs make the host hold in memory: arguments, answers,
	// output and images, in bytes. Defaults to 1 GiB; 16 MiB to
	// 1 TiB. What is on its way from a guest worker, one message each, comes on top.
	HeldBytes int64
}

var (
	percentSpan = span{50, 1, 100}
	agentSpan   = span{100, 1, 100}
	heldSpan    = span{1 << 30, 16 << 20, 1 << 40}
)

func (q Quotas) resolved() Quotas {
	q.SessionPercent = percentSpan.of(q.SessionPercent)
	q.AgentPercent = agentSpan.of(q.AgentPercent)
	q.HeldBytes = heldSpan.of(q.HeldBytes)
	return q
}

// Shares are what one session and one agent may have of each thing.
func (q Quotas) Shares() quota.Shares {
	return quota.Shares{Session: int(q.SessionPercent), Agent: int(q.AgentPercent)}
}

// Quotas returns Config.Quotas with every default filled in.
func (h *Host) Quotas() Quotas { return h.cfg.Quotas }

// meters are what a host shares out.
type meters struct {
	held, workers, suspended, approvals *quota.Meter

	mu      sync.Mutex
	warned  map[string]time.Time // by meter and whose limit
	skipped map[string]int
}

func newMeters(c *Config, s Settings) *meters {
	shares := c.Quotas.Shares()
	return &meters{
		held:      quota.NewMeter("held_bytes", "bytes of arguments, answers, output and images", "quotas.heldBytes", c.Quotas.HeldBytes, shares),
		workers:   quota.NewMeter("workers", "guest workers", "guest.maxWorkers", int64(c.MaxWorkers), shares),
		suspended: quota.NewMeter("suspended_runs", "suspended runs", "tools.codeMode.maxSuspendedRuns", s.MaxSuspended, shares),
		approvals: quota.NewMeter("pending_approvals", "calls that wait for a person", "", policy.DefaultMaxPending, shares),
		warned:    map[string]time.Time{}, skipped: map[string]int{},
	}
}

// Owner is whom what s takes is charged to.
func (s Session) Owner() quota.Owner {
	return quota.Owner{Agent: s.AgentID, Session: s.affinity()}
}

// denialPause is how often the log has a warning of one kind. Metrics count them all.
const denialPause = time.Second

// ReportDenied counts that a session was not given something, and warns of it in the
// log.
func (h *Host) ReportDenied(s Session, d *quota.Denied) {
	h.obs.metrics.Denied(d.Name, string(d.Whose))
	m, key := h.meters, d.Name+" "+string(d.Whose)
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
	h.log.Warn("a quota is used up", "quota", d.Name, "of", string(d.Whose), "used", d.Used, "limit", d.Limit, "wanted", d.Wanted,
		"agent", text.Cut(s.AgentID, 128), "sessionKey", text.Cut(s.SessionKey, 128), "sessionId", text.Cut(s.SessionID, 128), "sinceLast", skipped)
}
