package host

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// RunStatus says what a run is doing.
type RunStatus string

// The statuses of a run that has not ended.
const (
	RunRunning RunStatus = "running" // an Exec or Wait of this process is driving it
	RunWaiting RunStatus = "waiting" // it is suspended, as far as this process knows
)

// RunInfo describes a run that has not ended.
type RunInfo struct {
	ID       string    `json:"runId"`
	Session  Session   `json:"session,omitzero"`
	Language string    `json:"language"`
	Status   RunStatus `json:"status"`
	// Reason says why a suspended run waits.
	Reason  Reason    `json:"reason,omitempty"`
	Created time.Time `json:"created"`
	// Expires is when a suspended run is forgotten unless somebody waits for it.
	Expires time.Time `json:"expires,omitzero"`
	// PendingToolCalls are the bridge calls whose answers the program needs.
	PendingToolCalls []PendingCall `json:"pendingToolCalls"`
	// ImageBytes is the size of the newest image of the guest, 0 before the first.
	ImageBytes int `json:"imageBytes"`
	// GuestBuild is the build of the guest that suspended the run, in hexadecimal.
	GuestBuild string `json:"guestBuild,omitempty"`
	// Foreign says that this host does not have that build: see Config.PreviousGuests.
	Foreign bool `json:"foreign,omitempty"`
	// Origin is Config.Origin of the host that suspended the run.
	Origin []string `json:"-"`
}

// Runs lists the runs of a session that have not ended, oldest first: those of
// this process and those in its store. If s names no agent turn, it lists the runs
// of every turn. A run that another process drives is listed as the store knows
// it.
func (h *Host) Runs(ctx context.Context, s Session) ([]RunInfo, error) {
	return h.list(ctx, s.Covers)
}

// AllRuns is Runs of every session.
func (h *Host) AllRuns(ctx context.Context) ([]RunInfo, error) {
	return h.list(ctx, func(Session) bool { return true })
}

func (h *Host) list(ctx context.Context, wanted func(Session) bool) ([]RunInfo, error) {
	seen := make(map[string]bool)
	out := []RunInfo{}
	for _, r := range h.runsOwnedBy(wanted) {
		seen[r.id] = true
		if info, ok := r.info(); ok {
			out = append(out, info)
		}
	}
	records, err := h.store.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		if !seen[rec.ID] && wanted(rec.Session) {
			out = append(out, h.storedInfo(rec))
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

// Run describes a run of any session that has not ended; RunInfo.Session says whose
// it is. The error of one that is not there is an *Error.
func (h *Host) Run(ctx context.Context, runID string) (RunInfo, error) {
	if r := h.runByID(runID); r != nil {
		if info, ok := r.info(); ok {
			return info, nil
		}
	}
	rec, err := h.store.Get(ctx, runID)
	if err != nil {
		return RunInfo{}, ofStore(err)
	}
	return h.storedInfo(rec), nil
}

// runsOf returns the runs of the session that this process has.
func (h *Host) runsOf(s Session) (out []*run) { return h.runsOwnedBy(s.Covers) }

func (h *Host) runsOwnedBy(wanted func(Session) bool) (out []*run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.runs {
		if wanted(r.session) {
			out = append(out, r)
		}
	}
	return out
}

// info describes the run, unless it has ended.
func (r *run) info() (info RunInfo, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	info = RunInfo{ID: r.id, Session: r.session, Language: r.language, Status: RunRunning, Created: r.created, Origin: r.h.cfg.Origin}
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

func (h *Host) storedInfo(rec *runstore.Record) RunInfo {
	info := RunInfo{
		ID: rec.ID, Session: rec.Session, Language: rec.Language,
		Status: RunWaiting, Created: rec.Created, Expires: rec.Expires, Origin: rec.Origin,
		ImageBytes: max(rec.ImageBytes, len(rec.Image)), GuestBuild: rec.GuestBuild, Foreign: !h.canRestore(rec.GuestBuild),
	}
	calls := make([]*call, 0, len(rec.Calls))
	for _, c := range rec.Calls {
		calls = append(calls, &call{Call: c})
	}
	info.PendingToolCalls, info.Reason = describeCalls(calls, codemode.Ranges().MaxOutput.Default)
	return info
}
