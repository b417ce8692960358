package runs

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/internal/guestbuilds"
)

// keptBuilds is the directory of guest builds of a host: each build that a stored run needs
// is put there before the run is stored, and runs of builds that new runs do not use go on
// with what is there. The zero value has no directory.
type keptBuilds struct {
	dir *guestbuilds.Dir // nil: no directory

	mu     sync.Mutex
	noted  map[*guestrt.Pool]time.Time // when the build of a pool was last put there, or noted to be in use
	failed bool                        // it was said that it cannot be
	guests map[string]*otherGuest      // of runs that were asked about, by build
}

const (
	// notedAgain is how often a build in use is noted, far below guestbuilds.UnusedFor.
	notedAgain = time.Minute
	// keepFirst is how long a host has lived when it keeps its build although it has stored
	// no run. Commands that run one cell rarely get there.
	keepFirst = 5 * time.Second
)

// open opens the directory, unless the path is empty.
func (k *keptBuilds) open(path string) (err error) {
	k.noted, k.guests = map[*guestrt.Pool]time.Time{}, map[string]*otherGuest{}
	if path != "" {
		k.dir, err = guestbuilds.Open(path)
	}
	return err
}

// keepBuild puts the build of a pool into the directory of builds, or notes that it is in
// use. Without it a run would not go on after an upgrade, which is no reason to refuse the
// run now.
func (e *Engine) keepBuild(ctx context.Context, pool *guestrt.Pool) {
	k := &e.builds
	if k.dir == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	if last, ok := k.noted[pool]; ok && now.Sub(last) < notedAgain {
		return
	}
	if err := k.dir.Keep(ctx, pool.BuildID(), pool.WriteGuest); err != nil {
		if !k.failed && ctx.Err() == nil {
			e.Logger.Error("the build of the guest was not kept: after an upgrade, suspended runs are replayed, or need it in guest.previous", "builds", k.dir.Path(), "error", err)
		}
		k.failed = ctx.Err() == nil
		return
	}
	k.noted[pool], k.failed = now, false
}

// keepBuilds keeps the builds of the workers that this host runs.
func (e *Engine) keepBuilds(ctx context.Context) {
	for _, pool := range e.pools() {
		e.keepBuild(ctx, pool)
	}
}

// pools are the workers that have been started.
func (e *Engine) pools() []*guestrt.Pool {
	out := []*guestrt.Pool{e.Pool}
	for _, g := range e.otherGuests() {
		g.mu.Lock()
		if g.pool != nil {
			out = append(out, g.pool)
		}
		g.mu.Unlock()
	}
	return out
}

// otherGuests are those that have been found so far.
func (e *Engine) otherGuests() (out []*otherGuest) {
	for _, g := range e.previous {
		out = append(out, g)
	}
	if e.other != nil {
		e.other.mu.Lock()
		if e.other.guest != nil {
			out = append(out, e.other.guest)
		}
		e.other.mu.Unlock()
	}
	e.builds.mu.Lock()
	defer e.builds.mu.Unlock()
	for _, g := range e.builds.guests {
		out = append(out, g)
	}
	return out
}

// guest returns the guest of a build that the directory has, or nil.
func (k *keptBuilds) guest(build string) *otherGuest {
	if k.dir == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	path, ok := k.dir.Find(build)
	g := k.guests[build]
	if g == nil && ok {
		g = &otherGuest{path: path}
		id, err := hex.DecodeString(build)
		if err != nil || copy(g.build[:], id) != len(g.build) {
			return nil
		}
		k.guests[build] = g
	}
	if !ok && (g == nil || !g.started()) { // it was removed; workers that run have it still
		return nil
	}
	return g
}

// started reports whether there are workers of the guest.
func (g *otherGuest) started() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pool != nil
}
