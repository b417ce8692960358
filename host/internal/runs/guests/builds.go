package guests

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/quoinhq/quoin/host/internal/guestbuilds"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
)

// keptBuilds is the directory of guest builds of a host: each build that a stored run needs
// is put there before the run is stored, and runs of builds that new runs do not use
// continue with what is there. The zero value has no directory.
type keptBuilds struct {
	dir   *guestbuilds.Dir // nil: no directory
	times timing.Times

	mu     sync.Mutex // not held while the directory is written to
	builds map[guestbuilds.ID]*keptBuild
	failed bool                   // it was said that it cannot be
	guests map[string]*otherGuest // of runs that were asked about, by build
}

// keptBuild is what a host does about one build.
type keptBuild struct {
	there   bool          // it was put there, or noted to be in use
	next    time.Time     // when it is noted, or tried, again
	keeping chan struct{} // closed when the attempt that runs now is over; nil: no attempt runs
}

// open opens the directory, unless the path is empty.
func (k *keptBuilds) open(path string) (err error) {
	k.builds, k.guests = map[guestbuilds.ID]*keptBuild{}, map[string]*otherGuest{}
	if path != "" {
		k.dir, err = guestbuilds.Open(path)
	}
	return err
}

// KeepBuild puts the build of a pool into the directory of builds, or notes that it is in
// use. Without it a run would not continue after an upgrade, which is no reason to refuse
// the run now.
func (gs *Guests) KeepBuild(ctx context.Context, pool Pool) {
	k := &gs.builds
	if k.dir == nil {
		return
	}
	if err := k.keep(ctx, pool.BuildID(), pool.WriteGuest); err != nil {
		gs.env.Logger.Error("the build of the guest was not kept: after an upgrade, suspended runs are replayed, or need it in guest.builds", "builds", k.dir.Path(), "error", err)
	}
}

// keep puts a build there, or notes that it is in use, if it is time for that. It waits for
// another goroutine that does unless the build is there. It returns the first failure of
// several in a row.
func (k *keptBuilds) keep(ctx context.Context, id guestbuilds.ID, write func(io.Writer) error) error {
	for {
		mine, others := k.tryStart(id)
		switch {
		case mine:
			return k.attempt(ctx, id, write)
		case others == nil:
			return nil
		}
		select {
		case <-others:
		case <-ctx.Done():
			return nil
		}
	}
}

// tryStart reports whether the caller is to make an attempt to keep a build now. If it is to
// wait for the attempt of another goroutine, others is closed when that attempt is over.
func (k *keptBuilds) tryStart(id guestbuilds.ID) (mine bool, others <-chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.builds[id]
	if b == nil {
		b = &keptBuild{}
		k.builds[id] = b
	}
	switch {
	case b.keeping != nil && !b.there:
		return false, b.keeping
	case b.keeping != nil, time.Now().Before(b.next):
		return false, nil
	}
	b.keeping = make(chan struct{})
	return true, nil
}

// attempt makes the attempt that tryStart has allowed.
func (k *keptBuilds) attempt(ctx context.Context, id guestbuilds.ID, write func(io.Writer) error) (first error) {
	err := errors.New("the attempt has panicked")
	defer func() {
		if k.end(id, err, ctx.Err() != nil) {
			first = err
		}
	}()
	err = k.dir.Keep(ctx, id, write)
	return nil
}

// end notes the outcome of an attempt, and reports whether it is the first of several in a
// row that failed. One that was cancelled says nothing about the directory.
func (k *keptBuilds) end(id guestbuilds.ID, err error, cancelled bool) (first bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.builds[id]
	close(b.keeping)
	b.keeping = nil
	switch {
	case err == nil:
		b.there, b.next, k.failed = true, time.Now().Add(k.times.NotedAgain), false
	case !cancelled:
		b.next = time.Now().Add(k.times.TriedAgain)
		first, k.failed = !k.failed, true
	}
	return first
}

// KeepBuilds keeps the builds of the workers that this host runs.
func (gs *Guests) KeepBuilds(ctx context.Context) {
	for _, pool := range gs.pools() {
		gs.KeepBuild(ctx, pool)
	}
}

// pools are the workers that have been started.
func (gs *Guests) pools() []Pool {
	out := []Pool{gs.Pool}
	for _, g := range gs.otherGuests() {
		g.mu.Lock()
		if g.pool != nil {
			out = append(out, g.pool)
		}
		g.mu.Unlock()
	}
	return out
}

// otherGuests are those that have been found so far.
func (gs *Guests) otherGuests() (out []*otherGuest) {
	if gs.other != nil {
		gs.other.mu.Lock()
		if gs.other.guest != nil {
			out = append(out, gs.other.guest)
		}
		gs.other.mu.Unlock()
	}
	gs.builds.mu.Lock()
	defer gs.builds.mu.Unlock()
	for _, g := range gs.builds.guests {
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

// Close ends all workers.
func (gs *Guests) Close() error {
	var errs []error
	if gs.Pool != nil {
		errs = append(errs, gs.Pool.Close())
	}
	for _, g := range gs.otherGuests() {
		errs = append(errs, g.close())
	}
	return errors.Join(errs...)
}
