package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/internal/metrics"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// engine runs cells: it owns the guest workers, the runs of this process, the stores of
// runs and approvals, and what sessions share. What runs reach, and which hooks look at
// their calls, it asks its embedder.
type engine struct {
	engineConfig
	settings Settings // of the host; of agents, see settingsOf

	pool     *guestrt.Pool
	previous map[string]*previousGuest // by build
	foreign  atomic.Int64              // suspended runs of builds that are not here
	meters   *meters

	approvalWatcher approvalWatcher
	callWorkers     *callWorkers

	maxDelivered int           // see the constant
	maxQueryTime time.Duration // see the constant

	mu         sync.Mutex
	closing    bool            // nothing new is let in
	closed     bool            // close has started
	runs       map[string]*run // active and suspended, by run id
	recent     recentRuns
	driving    inFlight      // Execs and Waits
	performing inFlight      // tool calls, of any run
	parking    chan struct{} // closed when runs are to be parked as soon as they can
	answering  sync.Mutex    // orders answers that have to load their run
	badOutputs sync.Map      // tools that were reported, by id and schemas

	background sync.WaitGroup // the sweeper
	life       context.Context
	end        context.CancelFunc // ends life
}

// engineConfig is what an engine is made of.
type engineConfig struct {
	settingsOf func(Session) Settings
	log        *slog.Logger
	obs        *observe.Observer
	store      runstore.Store
	approvals  policy.Approvals

	views       viewSource
	hooks       func() *policy.Chain
	holdPlugins func(context.Context) (context.Context, func())

	quotas         Quotas
	maxWorkers     int
	previousGuests []string
	origin         []string
	pluginConfig   map[string]json.RawMessage
	onApproval     func(*policy.Approval)
	drainTimeout   time.Duration
}

// viewSource says what runs reach.
type viewSource interface {
	// accessFor checks what a caller gave to Exec and resolves the first view.
	accessFor(s Session, in ExecInput) (*access, *failure)
	// restoreAccess is accessFor for a run of a record.
	restoreAccess(s Session, rec *runstore.Record, tools *clientTools) (*access, error)
	// resolveView resolves the view of this moment.
	resolveView(to *access) error
	// sessionView is what a session reaches without tools of its own.
	sessionView(s Session) *view
	// isDown reports whether the host has the owner of tools, but not its tools now.
	isDown(owner string) bool
	// MCPStatus and MCPIdentifier are what hints say of MCP servers.
	MCPStatus() []mcp.Status
	MCPIdentifier(server string) string
}

// newEngine makes an engine. start starts its workers.
func newEngine(ctx context.Context, settings Settings) *engine {
	e := &engine{
		settings:     settings,
		runs:         make(map[string]*run),
		parking:      make(chan struct{}),
		maxDelivered: maxDelivered,
		maxQueryTime: maxQueryTime,
	}
	e.approvalWatcher.engine = e
	e.life, e.end = context.WithCancel(context.WithoutCancel(ctx))
	e.callWorkers = newCallWorkers(e.life.Done(), func(j callJob) { j.run.perform(j.call) })
	return e
}

// start starts the guest workers.
func (e *engine) start(ctx context.Context, guestPath string, prepared int) (err error) {
	e.pool, err = guestrt.NewPool(ctx, guestrt.Config{
		GuestPath: guestPath,
		Prepared:  prepared,
		Isolation: guestrt.Isolation(e.settings.Isolation),
		Logger:    e.log,
	})
	if err != nil {
		return err
	}
	return e.startPrevious()
}

// poolState, countRuns, countForeignRuns and heldNow are what metrics read.
func (e *engine) poolState() metrics.Pool {
	if e.pool == nil {
		return metrics.Pool{}
	}
	s := e.pool.Stats()
	return metrics.Pool{Warm: s.Warm, Kept: s.Kept, InUse: s.InUse, Started: s.Started, Retired: s.Retired}
}

func (e *engine) countRuns() (active, suspended int) {
	e.mu.Lock()
	runs := slices.Collect(maps.Values(e.runs))
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

func (e *engine) countForeignRuns() int { return int(e.foreign.Load()) }

func (e *engine) heldNow() (bytes, limit int64) {
	if e.meters == nil {
		return 0, 0
	}
	return e.meters.held.Used(), e.meters.held.Total()
}
