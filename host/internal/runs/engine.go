package runs

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/metrics"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
)

// Engine runs cells: it owns the guest workers, the runs of this process, the stores of
// runs and approvals, and what sessions share. What runs reach, and which hooks look at
// their calls, it asks its embedder.
type Engine struct {
	Config
	settings codemode.Settings // of the host; of agents, see SettingsOf

	Pool     *guestrt.Pool
	previous map[string]*otherGuest // by build
	other    *otherEngine
	builds   keptBuilds
	foreign  atomic.Int64 // suspended runs of builds that are not here
	meters   *meters

	replayRoom      atomic.Int64 // bytes that logs of runs may still take
	approvalWatcher approvalWatcher
	advancer        *advancer // nil: no run goes on without a caller
	moved           movedRuns
	asked           askedHosts
	keptPrograms    keptPrograms
	programIndex    programIndex
	callWorkers     *callWorkers[callJob]
	pipelines       pipelines

	compactAfter int // bytes of a journal; see journal.New
	clock        Clock

	// lastWakes bounds what a host that closes tells others of its runs; nil: it lets go of no runs.
	lastWakes atomic.Pointer[context.Context]

	mu          sync.Mutex
	closing     bool            // nothing new is let in
	closed      bool            // close has started
	runs        map[string]*run // active and suspended, by run id
	recent      recentRuns
	kept        keptValues
	driving     calls.InFlight // Execs and Waits
	performing  calls.InFlight // tool calls, of any run
	parking     chan struct{}  // closed when runs are to be parked as soon as they can
	answering   sync.Mutex     // orders answers that have to load their run
	lostWorkers lostWorkers
	badOutputs  sync.Map // tools that were reported, by id and schemas

	background sync.WaitGroup // the sweeper
	life       context.Context
	End        context.CancelFunc // ends life
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
	Advance         int          // runs that go on without a caller at once; 0: no run does
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

// PoolState, countRuns, countForeignRuns and heldNow are what metrics read.
// gauges are what metrics read of an engine.
type gauges struct{ *Engine }

// Metrics returns what metrics read of the engine, for a host of that version.
func (e *Engine) Metrics(version string) metrics.State {
	g := gauges{e}
	return metrics.State{Pool: g.pool, Runs: g.runs, Foreign: g.foreignRuns, Calls: e.performing.Now, Held: g.held, Engine: g.engine, Version: version,
		Due: g.due, Store: func() (runstore.Health, bool) { return e.StoreHealth(e.life) }}
}

func (e gauges) pool() metrics.Pool {
	if e.Pool == nil {
		return metrics.Pool{}
	}
	s := e.Pool.Stats()
	return metrics.Pool{Warm: s.Warm, Kept: s.Kept, InUse: s.InUse, Started: s.Started, Retired: s.Retired}
}

// StoreHealth says how the store of runs does, if the store can tell.
func (e *Engine) StoreHealth(ctx context.Context) (h runstore.Health, ok bool) {
	m, ok := e.Store.(runstore.Monitored)
	if ok {
		h = m.Health(ctx)
	}
	return h, ok
}

func (e gauges) due() int {
	if e.advancer == nil {
		return 0
	}
	return int(e.advancer.due.Load())
}

func (e gauges) engine() (name, id string) {
	if e.Pool != nil {
		_, id = e.Pool.Engine()
	}
	return EngineOf(id).Name, id
}

func (e gauges) runs() (active, suspended int) {
	e.mu.Lock()
	runs := slices.Collect(maps.Values(e.Engine.runs))
	e.mu.Unlock()
	for _, r := range runs {
		if r.now() == stateParked {
			suspended++
		} else {
			active++
		}
	}
	return active, suspended
}

func (e gauges) foreignRuns() int { return int(e.foreign.Load()) }

func (e gauges) held() (bytes, limit int64) {
	if e.meters == nil {
		return 0, 0
	}
	return e.meters.held.Used(), e.meters.held.Total()
}

// runByID returns the run of this process with that id, or nil.
func (e *Engine) runByID(id string) *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

// recordFor returns the record of a run of the session. What is known of one that has
// expired is in the error.
func (e *Engine) recordFor(ctx context.Context, s codemode.Session, id string) (*runstore.Record, error) {
	rec, err := e.Store.Get(ctx, id)
	if rec != nil {
		if f := fault.MayResume(rec.Session, s); f != nil {
			return nil, f
		}
	}
	if err != nil {
		return nil, withRecord(fault.FromStore(err), rec)
	}
	if rec.Moving != "" {
		return nil, withRecord(beingMoved(), rec)
	}
	return rec, nil
}

// beingMoved refuses a run that no host may go on with for now.
func beingMoved() *codemode.Error {
	return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseHost,
		"code mode run is being moved to another store. Wait for it again in a moment; if it stays so, the operator has to repeat quoin state move.")
}

// runsOf returns the runs of the session that this process has.
func (e *Engine) runsOf(s codemode.Session) (out []*run) { return e.runsOwnedBy(s.Covers) }

func (e *Engine) runsOwnedBy(wanted func(codemode.Session) bool) (out []*run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs {
		if wanted(r.session) {
			out = append(out, r)
		}
	}
	return out
}

// enter lets an Exec or Wait in, which leaves callers when it returns.
func (e *Engine) enter() *codemode.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return fault.Closing()
	}
	e.driving.Enter()
	return nil
}

func (e *Engine) IsClosing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closing
}

// volatile reports whether the store ends with the process.
func (e *Engine) volatile() bool {
	_, volatile := e.Store.(runstore.Volatile)
	return volatile
}

// add makes r known to Wait and Close.
func (e *Engine) add(r *run) *codemode.Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fault.Closing()
	}
	e.runs[r.id] = r
	return nil
}

func (e *Engine) remove(r *run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs[r.id] == r {
		delete(e.runs, r.id)
	}
}

// ReportDenied is Host.ReportDenied.
func (e *Engine) ReportDenied(s codemode.Session, d *quota.Denied) {
	e.Observer.Metrics.Denied(d.Name, string(d.Whose))
	m, key := e.meters, d.Name+" "+string(d.Whose)
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

// build is that of the guest that new runs use.
func (e *Engine) build() string {
	id := e.Pool.BuildID()
	return hex.EncodeToString(id[:])
}

// The model's own tools.
const (
	toolExec = "exec"
	ToolWait = "wait"
)
