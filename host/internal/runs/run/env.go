package run

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/programs"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
)

// Env is what all runs of a host share.
type Env struct {
	Config
	Settings codemode.Settings // of the host; of agents, see SettingsOf
	Meters   *meters
	Clock    Clock

	CompactAfter int            // bytes of a journal; see journal.New
	Performing   calls.InFlight // tool calls, of any run
	Background   sync.WaitGroup // steps that are tried again, and what sweeps
	Life         context.Context
	End          context.CancelFunc // ends life
}

// Config is what an engine is made of.
type Config struct {
	SettingsOf    func(codemode.Session) codemode.Settings
	Logger        *slog.Logger
	Observer      *observe.Observer
	Store         runstore.Store
	Peers         PeerHosts // of a runstore.Shared; nil: no other host is asked
	ApprovalStore policy.Approvals

	Views       ViewSource
	Hooks       func() *policy.Chain
	HoldPlugins func(context.Context) (context.Context, func())

	Quotas          codemode.Quotas
	MaxWorkers      int
	Origin          []string
	PluginConfig    map[string]json.RawMessage
	OnApproval      func(*policy.Approval)
	Programs        ProgramConfig
	QuestionTimeout time.Duration // 0: policy.DefaultApprovalTimeout
	DrainTimeout    time.Duration
	Advance         int          // runs that continue without a caller at once; 0: no run does
	Times           timing.Times // the zero value: timing.Defaults
}

// ViewSource says what runs reach.
type ViewSource interface {
	// AccessFor checks what a caller gave to Exec and resolves the first view.
	AccessFor(s codemode.Session, in Input) (*view.Access, *codemode.Error)
	// RestoreAccess is AccessFor for a run of a record.
	RestoreAccess(s codemode.Session, rec *runstore.Record, tools *view.ClientTools) (*view.Access, error)
	// ResolveView resolves the view of this moment.
	ResolveView(to *view.Access) error
	// SessionView is what a session reaches without tools of its own.
	SessionView(s codemode.Session) *view.View
	// IsDown reports whether the host has the owner of tools, but not its tools now.
	IsDown(owner string) bool
	// Connecting are the MCP servers that are being connected for the first time, with their
	// identifiers. Tried waits until one of them was tried, or ctx ends.
	Connecting() map[string]string
	Tried(ctx context.Context, server string) error
	// MCPStatus is what hints say of MCP servers.
	MCPStatus() []mcp.Status
	// ComingPlugins are the plugins that have not started yet.
	ComingPlugins() []string
}

// PeerHosts asks other hosts of the store. *cluster.Peers is one.
type PeerHosts interface {
	Ask(ctx context.Context, address string, q *cluster.Request, tell func(*cluster.Frame)) (*cluster.Reply, error)
}

// ReportDenied is Host.ReportDenied.
func (e *Env) ReportDenied(s codemode.Session, d *quota.Denied) {
	e.Observer.Metrics.Denied(d.Name, string(d.Whose))
	m, key := e.Meters, d.Name+" "+string(d.Whose)
	m.mu.Lock()
	now := time.Now()
	if now.Sub(m.warned[key]) < e.Times.DenialPause {
		m.skipped[key]++
		m.mu.Unlock()
		return
	}
	skipped := m.skipped[key]
	m.warned[key], m.skipped[key] = now, 0
	m.mu.Unlock()
	e.Logger.Warn("a quota is used up", "quota", d.Name, "of", string(d.Whose), "used", d.Used, "limit", d.Limit, "wanted", d.Wanted,
		"agent", text.Cut(s.AgentID, 128), "sessionKey", text.Cut(s.SessionKey, 128), "sessionId", text.Cut(s.SessionID, 128), "sinceLast", skipped)
}

// StoreHealth says how the store of runs does, if the store can tell.
func (e *Env) StoreHealth(ctx context.Context) (h runstore.Health, ok bool) {
	m, ok := e.Store.(runstore.Monitored)
	if ok {
		h = m.Health(ctx)
	}
	return h, ok
}

// Volatile reports whether the store ends with the process.
func (e *Env) Volatile() bool {
	_, volatile := e.Store.(runstore.Volatile)
	return volatile
}

// StoreAway is the failure of what needs the store, if it is known that the store takes no
// writes now. A store that is merely slow to answer tries for long before it fails, and the
// caller would hear of it late.
func (e *Env) StoreAway(ctx context.Context) *codemode.Error {
	if h, ok := e.StoreHealth(ctx); !ok || h.State.Works() {
		return nil
	}
	return fault.FromStore(runstore.ErrUnavailable)
}

// CountFenced counts a write of a run that was refused because another host has it, and
// returns the error of the write. Each write of the store goes through it.
func (e *Env) CountFenced(err error) error {
	if errors.Is(err, runstore.ErrFenced) {
		e.Observer.Metrics.WriteFenced()
	}
	return err
}

// UntilDone tries a step again and again, until it is done or the host ends. Then it is
// tried for the last time, under a context that has ended.
func (e *Env) UntilDone(step journal.Step) {
	e.Background.Go(func() {
		for pause := e.Times.FirstRetry; ; pause = min(2*pause, e.Times.LongestRetry) {
			select {
			case <-time.After(pause):
			case <-e.Life.Done():
			}
			done := true // a step that panics is not tried again
			e.Guard(func() { done = step(e.Life) })
			if done || e.Life.Err() != nil {
				return
			}
		}
	})
}

// ObserveDiscarded reports the end of a run that this process knows only from its record.
func (e *Env) ObserveDiscarded(rec *runstore.Record, f *codemode.Error) {
	o := e.Observer.Run(rec.ID, rec.Session)
	o.Parent = rec.ToolCallID
	o.Discarded(f)
}

// ProgramConfig says where programs are kept. Without a Store they are not.
type ProgramConfig struct {
	Store programs.Store
	// KeepFor is how long the program of a run can be saved.
	KeepFor time.Duration
	// ModelsSave lets programs save programs.
	ModelsSave bool
}

// Scheduler returns the store of runs, if it knows which runs can continue; else nil.
func (e *Env) Scheduler() runstore.Scheduler {
	s, _ := e.Store.(runstore.Scheduler)
	return s
}
