package guests

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// An image belongs to the build of the guest that it was taken from. New runs use one build.
// The builds of GuestConfig.Builds, and the guest of the engine that new runs do not use,
// finish what they have suspended.

// Config says which guest workers there are.
type Config struct {
	Engine           guestrt.Engine // of new runs
	Path, NativePath string         // as guestrt.Config has them
	Builds           string         // directory of builds; empty: no such directory
	Prepared         int
}

// Guests are the guest workers of a host, of the build of new runs and of others.
type Guests struct {
	env  *run.Env
	Pool Pool // of new runs

	other  *otherEngine
	builds keptBuilds
}

// New returns the guests of a host; Start follows.
func New(e *run.Env) *Guests { return &Guests{env: e} }

// otherGuest is a guest that new runs do not use. Its workers start when one is needed.
type otherGuest struct {
	path  string
	build [32]byte // of the file when it was found

	mu   sync.Mutex
	pool Pool // nil: not started
}

// start returns the workers of the guest, which runs that engine.
func (g *otherGuest) start(ctx context.Context, e *run.Env, engine guestrt.Engine) (Pool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pool != nil {
		return g.pool, nil
	}
	pool, err := startProcesses(context.WithoutCancel(ctx), guestrt.Config{
		Engine: engine, GuestPath: g.path, NativePath: g.path, BuildID: g.build,
		Prepared: 1, Isolation: guestrt.Isolation(e.Settings.Isolation), Logger: e.Logger,
	})
	if err == nil {
		g.pool = pool
	}
	return pool, err
}

// Close ends the workers, if there are any.
func (g *otherGuest) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pool == nil {
		return nil
	}
	return g.pool.Close()
}

// otherEngine is the guest of the engine that new runs do not use. It is looked for when
// a run turns up that another guest has suspended, and looked for again until it is there:
// who builds it does not have to start the host again.
type otherEngine struct {
	engine guestrt.Engine
	config guestrt.Config

	mu    sync.Mutex
	build string // of guest, in hexadecimal
	guest *otherGuest
	err   error // why there is no guest, when looking again is of no use
}

// find returns the guest and its build, or why this host has no such guest.
func (o *otherEngine) find() (string, *otherGuest, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.guest != nil || o.err != nil {
		return o.build, o.guest, o.err
	}
	path, id, err := guestrt.FindWorker(o.config)
	if err != nil {
		if !errors.Is(err, guestrt.ErrNoWorker) {
			o.err = err
		}
		return "", nil, err
	}
	o.build, o.guest = hex.EncodeToString(id[:]), &otherGuest{path: path, build: id}
	return o.build, o.guest, nil
}

// findOtherGuests opens the directory of builds, and finds the guest of the other engine if
// the configuration names it.
func (gs *Guests) findOtherGuests(g Config) error {
	if gs.env.Volatile() { // no run outlives this guest
		g.Builds = ""
	}
	if err := gs.builds.open(g.Builds); err != nil {
		return fmt.Errorf("guest.builds: %w", err)
	}
	other, named := guestrt.EngineNative, g.NativePath
	if mine, _ := gs.Pool.Engine(); mine == guestrt.EngineNative {
		if g.Engine == "" { // Path names the native one
			g.Path = ""
		}
		other, named = guestrt.EngineDefault, g.Path
	}
	gs.other = &otherEngine{engine: other, config: guestrt.Config{Engine: other, GuestPath: g.Path, NativePath: g.NativePath}}
	if named == "" {
		return nil
	}
	_, _, err := gs.other.find()
	return err
}

// guestOf returns the guest of a build, or nil. It is not asked for the build of new runs.
func (gs *Guests) guestOf(build string) *otherGuest {
	if g := gs.builds.guest(build); g != nil {
		return g
	}
	if id, g, err := gs.other.find(); err == nil && id == build {
		return g
	}
	return nil
}

// Has reports whether this host has the build that the run of a record needs, if it
// needs one.
func (gs *Guests) Has(rec *runstore.Record) bool {
	return !rec.Started() || rec.GuestBuild == gs.Build() || gs.guestOf(rec.GuestBuild) != nil
}

// PoolOf returns the workers of the build that a run was suspended with. A program that has
// not started starts on the build of new runs.
func (gs *Guests) PoolOf(ctx context.Context, rec *runstore.Record) (Pool, *codemode.Error) {
	if !rec.Started() || rec.GuestBuild == gs.Build() {
		return gs.Pool, nil
	}
	g := gs.guestOf(rec.GuestBuild)
	if g == nil {
		return nil, run.WithRecord(gs.noGuest(rec), rec)
	}
	pool, err := g.start(ctx, gs.env, guestrt.EngineOf(rec.GuestEngine))
	if err != nil {
		return nil, run.WithRecord(codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost, "code mode run cannot be restored now: the guest that suspended it does not start: %v", err), rec)
	}
	return pool, nil
}

// noGuest returns the failure that says what a host needs to resume a run.
func (gs *Guests) noGuest(rec *runstore.Record) *codemode.Error {
	kept := rec.Expires.UTC().Format(fault.TimeLayout)
	if engine := guestrt.EngineOf(rec.GuestEngine); engine == gs.other.engine {
		if _, _, err := gs.other.find(); err != nil {
			return codemode.Errorf(codemode.CodeUnavailable, codemode.ReasonEngineUnavailable, codemode.PhaseHost,
				"code mode run cannot be restored now: the %s engine has suspended it (%s), and this host has no worker of that engine. It is kept until %s. %v.",
				engine, rec.GuestEngine, kept, err)
		}
	}
	return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost,
		"code mode run cannot be restored: another build of the guest suspended it (%.12s), and it cannot be replayed: %s. It is kept until %s: a host that has this build, as its guest or in guest.builds, can go on with it.",
		rec.GuestBuild, replay.WhyNot(rec), kept)
}

// ReplayPool returns the workers that replay a run: of the engine that suspended it, because
// another engine draws other random values.
func (gs *Guests) ReplayPool(ctx context.Context, rec *runstore.Record) (Pool, *codemode.Error) {
	engine := guestrt.EngineOf(rec.GuestEngine)
	if mine, _ := gs.Pool.Engine(); mine == engine {
		return gs.Pool, nil
	}
	_, g, err := gs.other.find()
	if err != nil || engine != gs.other.engine {
		return nil, gs.noGuest(rec)
	}
	pool, err := g.start(ctx, gs.env, engine)
	if err != nil {
		return nil, codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost, "code mode run cannot be restored now: the guest that could replay it does not start: %v", err)
	}
	return pool, nil
}

// Build returns the build of the guest that new runs use.
func (gs *Guests) Build() string {
	id := gs.Pool.BuildID()
	return hex.EncodeToString(id[:])
}

// Start starts the guest workers.
func (gs *Guests) Start(ctx context.Context, g Config) error {
	pool, err := startProcesses(ctx, guestrt.Config{
		Engine:     g.Engine,
		GuestPath:  g.Path,
		NativePath: g.NativePath,
		Prepared:   g.Prepared,
		Isolation:  guestrt.Isolation(gs.env.Settings.Isolation),
		Logger:     gs.env.Logger,
	})
	if err != nil {
		return err
	}
	return gs.Use(pool, g)
}

// Use has new runs use the workers of a pool.
func (gs *Guests) Use(pool Pool, g Config) error {
	gs.Pool, gs.builds.times = pool, gs.env.Times
	return gs.findOtherGuests(g)
}
