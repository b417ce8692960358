package runs

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/mcp"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
)

// fixedViews has every session reach the same.
type fixedViews struct {
	view    *view.View
	refuses *codemode.Error // of new programs
}

func (v fixedViews) access() *view.Access {
	to := &view.Access{}
	to.View.Store(v.view)
	return to
}

func (v fixedViews) AccessFor(codemode.Session, run.Input) (*view.Access, *codemode.Error) {
	return v.access(), v.refuses
}

func (v fixedViews) RestoreAccess(codemode.Session, *runstore.Record, *view.ClientTools) (*view.Access, error) {
	return v.access(), nil
}

func (v fixedViews) ResolveView(*view.Access) error          { return nil }
func (v fixedViews) SessionView(codemode.Session) *view.View { return v.view }
func (v fixedViews) IsDown(string) bool                      { return false }
func (v fixedViews) MCPStatus() []mcp.Status                 { return nil }
func (v fixedViews) ComingPlugins() []string                 { return nil }
func (v fixedViews) Connecting() map[string]string           { return nil }
func (v fixedViews) Tried(context.Context, string) error     { return nil }

// newTestEngine is an engine without guests.
func newTestEngine(t *testing.T, store runstore.Store, approvals policy.Approvals, tools ...catalog.Tool) *Engine {
	t.Helper()
	c, err := catalog.New(tools, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	settings := codemode.Settings{}.WithDefaults()
	e := New(t.Context(), settings)
	t.Cleanup(e.End)
	log := slog.New(slog.DiscardHandler)
	e.Configure(run.Config{
		Store: store, ApprovalStore: approvals, Logger: log, Observer: observe.New(observe.Options{Logger: log}), Quotas: codemode.Quotas{}.WithDefaults(), Advance: 1,
		Views: fixedViews{view: view.New(c, namespaces.NewRegistry(), nil)}, SettingsOf: func(codemode.Session) codemode.Settings { return settings },
		Hooks: func() *policy.Chain { return &policy.Chain{} }, HoldPlugins: func(ctx context.Context) (context.Context, func()) { return ctx, func() {} },
	})
	return e
}

// newTestRun is an active run of the engine without a guest. Its record says nothing of what it is.
func newTestRun(t *testing.T, e *Engine) *drive.Run {
	t.Helper()
	id, err := run.NewID()
	if err != nil {
		t.Fatal(err)
	}
	r := e.NewRun(id, codemode.Session{SessionID: "s"}, "javascript", e.Views.(fixedViews).access(), nil)
	owner := e.RecordOwner(r)
	owner.Describe = func(rec *runstore.Record) { rec.Session, rec.Created = r.Session, time.Now() }
	r.Record = journal.New(r.ID, e.Store, 0, e.Logger, r.Calls, owner)
	r.DrivenBy(t.Context())
	if f := e.add(r); f != nil {
		t.Fatal(f)
	}
	return r
}

// callOf is a call of a tool of the engine, with a slot of the run.
func callOf(t *testing.T, r *drive.Run, tool string) *calls.Entry {
	t.Helper()
	found, err := r.View().Catalog.Resolve(tool)
	if err != nil {
		t.Fatal(err)
	}
	b, f := r.Calls.Admit([]wire.Request{{ID: uint64(len(r.Calls.List()) + 1), Method: wire.MethodCall, Target: tool, Args: []byte(`{}`)}}, true)
	if f != nil {
		t.Fatal(f)
	}
	e := b.Started[0]
	r.Calls.Resolved(e, found.ID())
	return e
}
