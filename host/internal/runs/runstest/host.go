package runstest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
)

// Me is the session of most tests.
var Me = codemode.Session{AgentID: "agent", SessionKey: "key", SessionID: "session", TurnID: "turn"}

// Setup says what a host is made of. The zero value works.
type Setup struct {
	Tools      []catalog.Tool
	Hooks      []policy.Hook
	Rules      policy.Scopes
	Store      runstore.Store   // nil: one in memory, which ends with the host
	Approvals  policy.Approvals // nil: one in memory
	Settings   codemode.Settings
	Quotas     codemode.Quotas
	MaxWorkers int // 0: 8
	Advance    int
	Guests     *Guests
	Others     guests.Config // builds and engines besides the ones of Guests
	Log        io.Writer
	Config     func(*run.Config)
}

// Host is an engine with guests that are no processes, and what it reports.
type Host struct {
	*runs.Engine
	Events
	Guests    *Guests
	Approvals policy.Approvals
	Asked     chan *policy.Approval

	t      testing.TB
	views  *views
	closed sync.Once
}

// InBubble runs a test in parallel with others, in a bubble of its own: see testing/synctest.
func InBubble(t *testing.T, f func(*testing.T)) {
	t.Parallel()
	beforeBubbles()
	synctest.Test(t, func(t *testing.T) {
		hangs := time.AfterFunc(mostTime, func() { panic("the test waits for what does not come") })
		defer hangs.Stop()
		f(t)
	})
}

// mostTime is longer than any test waits. Time does not stand still where a test hangs: there are
// tickers.
const mostTime = 100 * time.Hour

// beforeBubbles compresses something: the first to do so makes what all have in common.
var beforeBubbles = sync.OnceFunc(func() {
	var room atomic.Int64
	room.Store(replay.MaxLogs)
	l := &replay.Log{Room: &room}
	l.Start(&wire.Cell{}, nil)
	l.End(&wire.Report{Trace: []byte{1}})
	l.Put(&runstore.Record{})
})

// Start starts a host, which is closed when the test ends.
func Start(t testing.TB, s Setup) *Host {
	t.Helper()
	settings := s.Settings.WithDefaults()
	h := &Host{Engine: runs.New(t.Context(), settings), Guests: s.Guests, Approvals: s.Approvals, Asked: make(chan *policy.Approval, 1000), t: t}
	if h.Guests == nil {
		h.Guests = &Guests{}
	}
	if h.Approvals == nil {
		h.Approvals = &policy.MemoryApprovals{}
	}
	if s.Store == nil {
		s.Store = &runstore.Memory{}
	}
	if s.Log == nil {
		s.Log = io.Discard
	}
	log := slog.New(slog.NewTextHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	chain, err := policy.NewChain(s.Hooks, 0)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := s.Rules.Compile()
	if err != nil {
		t.Fatal(err)
	}
	h.views = &views{policy: rules}
	h.Replace(s.Tools...)
	c := run.Config{
		SettingsOf: func(codemode.Session) codemode.Settings { return settings }, Logger: log,
		Store: s.Store, ApprovalStore: h.Approvals, Views: h.views, Hooks: func() *policy.Chain { return chain },
		Observer:    observe.New(observe.Options{Logger: log, Sink: &h.Events, State: h.Metrics("test")}),
		HoldPlugins: func(ctx context.Context) (context.Context, func()) { return ctx, func() {} },
		OnApproval:  func(a *policy.Approval) { h.Asked <- a },
		Quotas:      s.Quotas.WithDefaults(), MaxWorkers: cmp.Or(s.MaxWorkers, 8), Advance: s.Advance, Times: timing.Defaults, DrainTimeout: 5 * time.Second,
	}
	if s.Config != nil {
		s.Config(&c)
	}
	h.Configure(c)
	if err := h.Engine.Use(h.Guests, s.Others); err != nil {
		t.Fatal(err)
	}
	h.StartSweeping()
	h.StartAdvancing()
	t.Cleanup(h.Shut)
	return h
}

// Shut closes the host. It may be called again.
func (h *Host) Shut() {
	h.closed.Do(func() {
		h.Engine.Close()
		h.End()
		if err := h.StopWorkers(); err != nil {
			h.t.Error(err)
		}
		h.Observer.Close()
		if left := h.Inspect().Taken(); len(left) != 0 {
			h.t.Errorf("a closed host has taken %v of its quotas", left)
		}
		if n := h.Guests.Stats().InUse; n != 0 {
			h.t.Errorf("a closed host has %d workers", n)
		}
	})
}

// Replace gives the host other tools, as a change of plugins would.
func (h *Host) Replace(tools ...catalog.Tool) {
	c, err := catalog.New(tools, catalog.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	h.views.base.Store(view.New(c, namespaces.NewRegistry(), nil))
}

// Run runs a program as a caller of Exec does that says no more.
func (h *Host) Run(p Program) *codemode.Result { return h.RunFor(0, p) }

// RunFor is Run for a caller who waits for so long.
func (h *Host) RunFor(wait time.Duration, p Program) *codemode.Result {
	return h.RunIn(h.t.Context(), run.Input{Wait: wait}, p)
}

// RunIn is Run with a context and more input.
func (h *Host) RunIn(ctx context.Context, in run.Input, p Program) *codemode.Result {
	in.Code = Source(p)
	return h.Exec(ctx, Me, in)
}

// Go is Run on another goroutine.
func (h *Host) Go(p Program) <-chan *codemode.Result {
	return Later(func() *codemode.Result { return h.Run(p) })
}

// Later calls f on another goroutine.
func Later(f func() *codemode.Result) <-chan *codemode.Result {
	done := make(chan *codemode.Result, 1)
	go func() { done <- f() }()
	return done
}

// Resume waits for a run.
func (h *Host) Resume(id string) *codemode.Result { return h.ResumeFor(id, 0) }

// ResumeFor waits for a run for so long.
func (h *Host) ResumeFor(id string, wait time.Duration) *codemode.Result {
	return h.Wait(h.t.Context(), Me, id, wait)
}

// Decide enters the decision of a person.
func (h *Host) Decide(id string, d policy.Decision) {
	h.t.Helper()
	a, err := policy.Decide(h.t.Context(), h.Approvals, id, d, "alice", time.Now())
	if err != nil {
		h.t.Fatal(err)
	}
	h.Decided(h.t.Context(), a.RunID)
}

// views has all sessions reach the tools of now that the rules let them reach.
type views struct {
	policy *policy.Policy
	base   atomic.Pointer[view.View]
}

func (v *views) AccessFor(s codemode.Session, in run.Input) (*view.Access, *codemode.Error) {
	client, f := view.NewClientTools(in.Tools)
	if f != nil {
		return nil, f
	}
	return view.NewAccess(v.base.Load(), v.policy, s, in.Rules, client)
}

func (v *views) RestoreAccess(s codemode.Session, rec *runstore.Record, tools *view.ClientTools) (*view.Access, error) {
	return view.RestoreAccess(v.base.Load(), v.policy, s, rec, tools)
}

func (v *views) SessionView(codemode.Session) *view.View { return v.base.Load() }
func (v *views) ResolveView(to *view.Access) error       { return to.Resolve(v.base.Load()) }
func (*views) IsDown(string) bool                        { return false }
func (*views) MCPStatus() []mcp.Status                   { return nil }
func (*views) ComingPlugins() []string                   { return nil }
func (*views) Connecting() map[string]string             { return nil }
func (*views) Tried(context.Context, string) error       { return nil }

// Show is a result as JSON.
func Show(r *codemode.Result) string {
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// WantValue fails the test unless the program has returned the value.
func WantValue(t testing.TB, r *codemode.Result, want string) {
	t.Helper()
	if r.Status != codemode.StatusCompleted || string(r.Value) != want {
		t.Fatalf("got %s\nwant completed %s", Show(r), want)
	}
}

// WantFailure fails the test unless the run has failed so.
func WantFailure(t testing.TB, r *codemode.Result, code codemode.Code, reason codemode.Reason, phase codemode.Phase) {
	t.Helper()
	if r.Status != codemode.StatusFailed || r.Code != code || r.Reason != reason || r.Phase != phase {
		t.Fatalf("got %s\nwant failed %s/%s in phase %s", Show(r), code, reason, phase)
	}
}

// WantWaiting fails the test unless the run waits for that reason. It returns the id of the run.
func WantWaiting(t testing.TB, r *codemode.Result, reason codemode.Reason) (id string) {
	t.Helper()
	if r.Status != codemode.StatusWaiting || r.Reason != reason {
		t.Fatalf("got %s\nwant waiting %s", Show(r), reason)
	}
	return r.RunID
}

// WantTexts fails the test unless the output of a result is these texts.
func WantTexts(t testing.TB, r *codemode.Result, want ...string) {
	t.Helper()
	var got []string
	for _, o := range r.Output {
		got = append(got, o.Text())
	}
	if a, b := encoded(got), encoded(want); !bytes.Equal(a, b) {
		t.Errorf("output %s, want %s", a, b)
	}
}
