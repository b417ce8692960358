package host

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// Runs is Host.Runs.
func (e *engine) Runs(ctx context.Context, s Session) ([]RunInfo, error) {
	return e.list(ctx, s.Covers)
}

// AllRuns is Host.AllRuns.
func (e *engine) AllRuns(ctx context.Context) ([]RunInfo, error) {
	return e.list(ctx, func(Session) bool { return true })
}

func (e *engine) list(ctx context.Context, wanted func(Session) bool) ([]RunInfo, error) {
	seen := make(map[string]bool)
	out := []RunInfo{}
	for _, r := range e.runsOwnedBy(wanted) {
		seen[r.id] = true
		if info, ok := r.info(); ok {
			out = append(out, info)
		}
	}
	records, err := e.store.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		if !seen[rec.ID] && wanted(rec.Session) {
			out = append(out, e.storedInfo(rec))
		}
	}
	slices.SortFunc(out, func(a, b RunInfo) int {
		if n := a.Created.Compare(b.Created); n != 0 {
			return n
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out, nil
}

// Run is Host.Run.
func (e *engine) Run(ctx context.Context, runID string) (RunInfo, error) {
	if r := e.runByID(runID); r != nil {
		if info, ok := r.info(); ok {
			return info, nil
		}
	}
	rec, err := e.store.Get(ctx, runID)
	if err != nil {
		return RunInfo{}, failureFromStore(err)
	}
	return e.storedInfo(rec), nil
}

// info describes the run, unless it has ended.
func (r *run) info() (info RunInfo, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info = RunInfo{ID: r.id, Session: r.session, Language: r.language, Status: RunRunning, Created: r.created, Origin: r.engine.origin}
	info.PendingToolCalls, info.Reason = r.calls.describe(r.settings.MaxOutput)
	state := r.now()
	if state != stateParked {
		info.Reason = ""
	} else {
		id := r.pool.BuildID()
		info.Status, info.Expires, info.ImageBytes, info.GuestBuild = RunWaiting, r.expires, r.imageBytes, hex.EncodeToString(id[:])
	}
	return info, state < stateEnding
}

func (e *engine) storedInfo(rec *runstore.Record) RunInfo {
	info := RunInfo{
		ID: rec.ID, Session: rec.Session, Language: rec.Language,
		Status: RunWaiting, Created: rec.Created, Expires: rec.Expires, Origin: rec.Origin,
		ImageBytes: max(rec.ImageBytes, len(rec.Image)), GuestBuild: rec.GuestBuild, Foreign: !e.canRestore(rec.GuestBuild),
	}
	calls := make([]*entry, 0, len(rec.Calls))
	for _, c := range rec.Calls {
		calls = append(calls, &entry{Call: c})
	}
	info.PendingToolCalls, info.Reason = describeCalls(calls, codemode.Ranges().MaxOutput.Default)
	return info
}
