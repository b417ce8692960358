package drive

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/namespaces"
)

// fakeHome is an engine as a driver sees it.
type fakeHome struct{ closing bool }

func (h *fakeHome) IsClosing() bool                                  { return h.closing }
func (*fakeHome) Remove(*Run)                                        {}
func (*fakeHome) Remember(string, codemode.Session, *codemode.Error) {}
func (*fakeHome) LeftDue(string)                                     {}
func (*fakeHome) MakeRoom(context.Context, time.Time) (bool, error)  { return false, nil }
func (*fakeHome) KeepBuild(context.Context, guests.Pool)             {}

// newDrivenRun returns an active run without a guest. The caller of its driver waits for a
// minute.
func newDrivenRun(t *testing.T, store runstore.Store, settings codemode.Settings) (*Run, *fakeHome) {
	t.Helper()
	settings = settings.WithDefaults()
	c, err := catalog.New(nil, catalog.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	env := NewEnv(&run.Env{
		Config:   run.Config{Store: store, Logger: log, Observer: observe.New(observe.Options{Logger: log}), Times: timing.Defaults, SettingsOf: func(codemode.Session) codemode.Settings { return settings }},
		Settings: settings, Clock: run.RealClock{}, Meters: run.NewMeters(codemode.Quotas{}.WithDefaults(), 1, settings), Life: t.Context(),
	})
	home := &fakeHome{}
	env.Home, env.Hint = home, func(string) {}
	to := &view.Access{}
	to.View.Store(view.New(c, namespaces.NewRegistry(), nil))
	id, err := run.NewID()
	if err != nil {
		t.Fatal(err)
	}
	r := env.NewRun(id, codemode.Session{SessionID: "s"}, "javascript", to, nil)
	owner := env.RecordOwner(r)
	owner.Describe = func(rec *runstore.Record) { rec.Session, rec.Created = r.Session, time.Now() }
	r.Record = journal.New(r.ID, store, 0, log, r.Calls, owner)
	r.driver.limit(t.Context(), time.Minute, time.Minute)
	return r, home
}
