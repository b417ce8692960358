package runs

import (
	"context"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/upkeep"
	"github.com/quoinhq/quoin/host/runstore"
)

// lister lists the runs of this process and of the store.
type lister struct {
	*drive.Env
	*guests.Guests
	*registry

	moved *upkeep.Moved
}

// Runs is Host.Runs.
func (l *lister) Runs(ctx context.Context, s codemode.Session) ([]codemode.RunInfo, error) {
	return l.list(ctx, s.Covers)
}

// AllRuns is host.Runs.All.
func (l *lister) AllRuns(ctx context.Context) ([]codemode.RunInfo, error) {
	return l.list(ctx, func(codemode.Session) bool { return true })
}

func (l *lister) list(ctx context.Context, wanted func(codemode.Session) bool) ([]codemode.RunInfo, error) {
	idle, here := l.moved.Idle(), l.OwnedBy(wanted)
	records, err := l.Store.List(ctx)
	if err != nil {
		return nil, err
	}
	upkeep.LeaveMoved(idle, records)
	seen := make(map[string]bool)
	out := []codemode.RunInfo{}
	for _, r := range here {
		info, ok := r.Info()
		if ok {
			out = append(out, info)
		}
		seen[r.ID] = ok || r.Now() != run.Left
	}
	for _, rec := range records {
		if !seen[rec.ID] && wanted(rec.Session) {
			out = append(out, l.storedInfo(rec))
		}
	}
	slices.SortFunc(out, func(a, b codemode.RunInfo) int {
		if n := a.Created.Compare(b.Created); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

// Run is host.Runs.Get.
func (l *lister) Run(ctx context.Context, runID string) (codemode.RunInfo, error) {
	if r := l.ByID(runID); r != nil && (l.Volatile() || !r.IsIdle()) {
		if info, ok := r.Info(); ok {
			return info, nil
		}
	}
	rec, err := l.Store.Get(ctx, runID)
	if err != nil {
		return codemode.RunInfo{}, fault.FromStore(err)
	}
	return l.storedInfo(rec), nil
}

func (l *lister) storedInfo(rec *runstore.Record) codemode.RunInfo {
	info := codemode.RunInfo{
		ID: rec.ID, Session: rec.Session, Language: rec.Language,
		Status: codemode.RunWaiting, Created: rec.Created, Expires: rec.Expires, Origin: rec.Origin,
		ImageBytes: max(rec.ImageBytes, len(rec.Image)), GuestBuild: rec.GuestBuild, GuestEngine: rec.GuestEngine, Foreign: !l.Has(rec),
	}
	pending := make([]*runstore.Call, len(rec.Calls))
	for i := range rec.Calls {
		pending[i] = &rec.Calls[i]
	}
	info.PendingToolCalls, info.Reason = calls.Describe(pending, codemode.Ranges().MaxOutput.Default)
	return info
}
