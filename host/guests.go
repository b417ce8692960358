package host

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/runstore"
)

// An image belongs to the build of the guest that it was taken from. New runs use one
// build; those of Config.PreviousGuests finish what they have suspended.

// previousGuest is an older build. Its workers start when one is needed.
type previousGuest struct {
	path  string
	build [32]byte // of the file when the host started

	mu   sync.Mutex
	pool *guestrt.Pool // nil: not started
}

// startPrevious finds the builds of Config.PreviousGuests.
func (e *engine) startPrevious() error {
	e.previous = map[string]*previousGuest{}
	for i, path := range e.previousGuests {
		id, err := guestrt.BuildOf(path)
		if err != nil {
			return fmt.Errorf("guest.previous[%d]: %w: name the quoin-guest of an earlier installation, or leave it out", i, err)
		}
		e.previous[hex.EncodeToString(id[:])] = &previousGuest{path: path, build: id}
	}
	return nil
}

// build is that of the guest that new runs use.
func (e *engine) build() string {
	id := e.pool.BuildID()
	return hex.EncodeToString(id[:])
}

// canRestore reports whether this host has the build.
func (e *engine) canRestore(build string) bool { return build == e.build() || e.previous[build] != nil }

// poolOf returns the workers of the build that a run was suspended with.
func (e *engine) poolOf(ctx context.Context, rec *runstore.Record) (*guestrt.Pool, *failure) {
	if rec.GuestBuild == e.build() {
		return e.pool, nil
	}
	g := e.previous[rec.GuestBuild]
	if g == nil {
		return nil, withRecord(failf(CodeInvalidInput, ReasonRestoreFailed, PhaseHost,
			"code mode run cannot be restored: another build of the guest suspended it (%.12s). It is kept until %s: a host that has this build, as its guest or among guest.previous, can go on with it.",
			rec.GuestBuild, rec.Expires.UTC().Format(timeOfRuns)), rec)
	}
	pool, err := g.start(ctx, e)
	if err != nil {
		return nil, withRecord(failf(CodeUnavailable, "", PhaseHost, "code mode run cannot be restored now: the guest that suspended it does not start: %v", err), rec)
	}
	return pool, nil
}

func (g *previousGuest) start(ctx context.Context, e *engine) (*guestrt.Pool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pool != nil {
		return g.pool, nil
	}
	pool, err := guestrt.NewPool(context.WithoutCancel(ctx), guestrt.Config{
		GuestPath: g.path, BuildID: g.build, Prepared: 1, Isolation: guestrt.Isolation(e.settings.Isolation), Logger: e.log,
	})
	if err == nil {
		g.pool = pool
	}
	return pool, err
}

// close ends the workers, if there are any.
func (g *previousGuest) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pool == nil {
		return nil
	}
	return g.pool.Close()
}

// countForeign counts the suspended runs that no guest of this host can go on with, for
// the metrics, and warns of them once.
func (e *engine) countForeign(ctx context.Context) {
	records, err := e.store.List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			e.log.Error("suspended runs of other guest builds were not counted", "error", err)
		}
		return
	}
	n, last := 0, time.Time{}
	for _, rec := range records {
		if !e.canRestore(rec.GuestBuild) {
			n++
			if rec.Expires.After(last) {
				last = rec.Expires
			}
		}
	}
	if e.foreign.Swap(int64(n)) == 0 && n > 0 {
		e.log.Warn("suspended runs belong to another build of the guest: name its quoin-guest in guest.previous to finish them", "runs", n, "lastExpires", last.UTC())
	}
}
