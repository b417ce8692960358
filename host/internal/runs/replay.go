package runs

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// A replay makes a run, which a build of the guest has suspended that is gone, one that
// this host's build has suspended: it runs the program again from its source, gives it in
// each turn what it got then, and takes an image where the log ends. What the program asks
// for meanwhile is held against the log and goes nowhere: no tool is called, no person is
// asked, nothing is emitted. A program that asks for anything else takes another path, and is stopped.

// divergedError says that a replayed program took another path.
type divergedError struct {
	turn int // from 1
	what string
}

func (e *divergedError) Error() string {
	return fmt.Sprintf("in turn %d it %s", e.turn, e.what)
}

// replayable reports whether the run of a record can be replayed.
func replayable(rec *runstore.Record) bool {
	return len(rec.Replay) > 0 && rec.NoReplay == "" && !rec.Live
}

// modernised returns the record of a run that this host can go on with: rec, or what a replay made
// of it, which the store then has.
func (e *Engine) modernised(ctx context.Context, rec *runstore.Record, claim runstore.Claim) (*runstore.Record, *failure) {
	if e.hasGuestOf(rec) || !replayable(rec) {
		return rec, nil
	}
	next, f := e.replay(ctx, rec)
	if f != nil {
		return nil, withRecord(f, rec)
	}
	if err := e.countFenced(claim.Checkpoint(ctx, next)); err != nil {
		return nil, withRecord(and(failureFromStore(err), keptAsItWas), rec)
	}
	next.Epoch = claim.Epoch() // of its writer, as the store has it
	e.Logger.Info("a suspended run was replayed on another build of the guest", "run", rec.ID, "from", text12(rec.GuestBuild), "to", text12(next.GuestBuild))
	return next, nil
}

// text12 is the start of a build's id, as messages have it.
func text12(build string) string { return fmt.Sprintf("%.12s", build) }

// replay runs the program of a record again and returns the record with the image of this
// host's guest. Nothing has changed in the store.
func (e *Engine) replay(ctx context.Context, rec *runstore.Record) (*runstore.Record, *failure) {
	turns, err := decodeLog(rec.Replay)
	if err != nil {
		return nil, notRestored("%v", err)
	}
	pool, f := e.replayPool(ctx, rec)
	if f != nil {
		return nil, f
	}
	settings := e.SettingsOf(rec.Session)
	ctx, cancel := context.WithTimeout(ctx, settings.Timeout)
	defer cancel()
	w, done, err := e.leaseForReplay(ctx, rec, pool, turns[0].cell)
	if err != nil {
		return nil, failf(codemode.CodeUnavailable, "", codemode.PhaseHost, "code mode run cannot be restored now: no guest worker can replay it: %v", err)
	}
	defer done()
	again := replaying{worker: w, turns: turns, deadline: deadlineOf(ctx)}
	if err := again.run(ctx); err != nil {
		return nil, e.notReplayed(rec, err)
	}
	image, err := w.Snapshot(ctx, int(settings.MaxSnapshot))
	if err != nil {
		return nil, FailureFromWorker(err)
	}
	next := *rec
	build := pool.BuildID()
	next.GuestBuild = hex.EncodeToString(build[:])
	_, next.GuestEngine = pool.Engine()
	next.Image, next.ImageBytes = image, 0
	next.Layers = IsolationOf(w.Layers()).Layers
	next.Generation++
	return &next, nil
}

func deadlineOf(ctx context.Context) time.Time {
	t, _ := ctx.Deadline()
	return t
}

// notReplayed says why a replay came to no image. The run is kept.
func (e *Engine) notReplayed(rec *runstore.Record, err error) *failure {
	var diverged *divergedError
	if !errors.As(err, &diverged) {
		return FailureFromWorker(err)
	}
	return failf(codemode.CodeInvalidInput, codemode.ReasonReplayDiverged, codemode.PhaseHost,
		"code mode run cannot be restored: another build of the guest suspended it (%s), and run again on this one the program took another path: %v. "+
			"Nothing was called. The run is kept until %s: a host that has that build, as its guest, in guest.builds or among guest.previous, can go on with it.",
		text12(rec.GuestBuild), err, rec.Expires.UTC().Format(timeOfRuns))
}

// replayPool returns the workers that replay a run: of the engine that suspended it, whose
// random values another engine does not draw.
func (e *Engine) replayPool(ctx context.Context, rec *runstore.Record) (*guestrt.Pool, *failure) {
	engine := guestrt.EngineOf(rec.GuestEngine)
	if mine, _ := e.Pool.Engine(); mine == engine {
		return e.Pool, nil
	}
	_, g, err := e.other.find()
	if err != nil || engine != e.other.engine {
		return nil, e.noGuest(rec)
	}
	pool, err := g.start(ctx, e, engine)
	if err != nil {
		return nil, failf(codemode.CodeUnavailable, "", codemode.PhaseHost, "code mode run cannot be restored now: the guest that could replay it does not start: %v", err)
	}
	return pool, nil
}

// leaseForReplay takes one of the host's worker slots and a worker that has run nothing.
func (e *Engine) leaseForReplay(ctx context.Context, rec *runstore.Record, pool *guestrt.Pool, cell *wire.Cell) (*guestrt.Worker, func(), error) {
	owner := quota.OwnerOf(rec.Session)
	ticket := e.meters.workers.Queue(owner)
	select {
	case <-ticket.Ready():
	case <-ctx.Done():
		if canceled, _ := ticket.Cancel(); !canceled { // it came at the last moment
			e.meters.workers.Give(owner, 1)
		}
		return nil, nil, errBusy
	}
	w, err := pool.AcquireFresh(ctx, rec.Session.Identity(), cell.Limits)
	if err != nil {
		e.meters.workers.Give(owner, 1)
		return nil, nil, err
	}
	return w, func() {
		pool.Release(w)
		e.meters.workers.Give(owner, 1)
	}, nil
}

// replaying is a replay that runs.
type replaying struct {
	worker   *guestrt.Worker
	turns    []loggedTurn
	deadline time.Time

	files   map[string]loggedFile // as the guest has read them until now
	unknown string                // a file that the log does not have
}

// run runs all turns of the log.
func (r *replaying) run(ctx context.Context) error {
	r.files = map[string]loggedFile{}
	for i := range r.turns {
		t := &r.turns[i]
		for _, f := range t.files {
			r.files[f.path] = f
		}
		rep, err := r.again(ctx, t)
		if err != nil {
			return err
		}
		if what := r.differs(rep, t); what != "" {
			return &divergedError{i + 1, what}
		}
	}
	return nil
}

func (r *replaying) again(ctx context.Context, t *loggedTurn) (*wire.Report, error) {
	if t.cell == nil {
		return r.worker.ReplayTurn(ctx, t.in, t.trace, r.deadline)
	}
	t.cell.Limits.MaxOutputItems = wire.MaxOutputItems
	return r.worker.ReplayStart(ctx, *t.cell, t.trace, r.file, r.deadline)
}

// file serves a virtual file as the guest read it.
func (r *replaying) file(_ context.Context, path string) ([]byte, bool) {
	f, known := r.files[path]
	if !known {
		r.unknown = path
	}
	return f.data, f.found
}

// differs says how a turn differs from the recorded one, or "".
func (r *replaying) differs(rep *wire.Report, t *loggedTurn) string {
	switch {
	case rep.Status == wire.StatusFailed && rep.Err.Reason == wire.ReasonReplayDiverged:
		return "drew other random values"
	case rep.Status == wire.StatusFailed:
		return "failed: " + rep.Err.Message
	case rep.Status == wire.StatusDone:
		return "ended"
	case r.unknown != "":
		return "read another file, " + r.unknown
	case digestOf(rep) != t.path:
		return "asked for something else, or emitted something else"
	}
	return ""
}

// Upgrade is Host.UpgradeRuns.
func (e *Engine) Upgrade(ctx context.Context, o codemode.UpgradeOptions) iter.Seq2[codemode.UpgradedRun, error] {
	return func(yield func(codemode.UpgradedRun, error) bool) {
		list, err := e.Store.List(ctx)
		for _, rec := range list {
			if !rec.Started() || rec.GuestBuild == e.build() {
				continue
			}
			if err = context.Cause(ctx); err != nil {
				break
			}
			upgraded, f := e.upgrade(ctx, rec, o)
			if f != nil && ctx.Err() != nil { // it is the end of ctx that kept the run from it
				err = context.Cause(ctx)
				break
			}
			if !upgraded && (f == nil || isOver(f)) { // meanwhile, by another host
				continue
			}
			u := codemode.UpgradedRun{ID: rec.ID, From: rec.GuestBuild}
			if f != nil {
				u.Err = f
			}
			if !yield(u, nil) {
				return
			}
		}
		if err != nil {
			yield(codemode.UpgradedRun{}, err)
		}
	}
}

// isOver reports whether a failure says that a run has ended.
func isOver(f *failure) bool {
	return f.Reason == codemode.ReasonRunUnavailable || f.Reason == codemode.ReasonRunExpired || errors.Is(f, runstore.ErrEnded)
}

// upgrade replays one run, and reports whether it was one of another build.
func (e *Engine) upgrade(ctx context.Context, rec *runstore.Record, o codemode.UpgradeOptions) (upgraded bool, _ *failure) {
	checkpoint := func(context.Context, *runstore.Record) error { return nil }
	if !o.DryRun {
		claim, err := e.Store.Claim(ctx, rec.ID)
		if err != nil {
			return false, failureFromStore(err)
		}
		defer func() {
			defer claim.Release()
			if rec.GoesOnAlone() {
				e.leftDue(rec.ID) // an upgrade goes on with no run
			}
		}()
		checkpoint = claim.Checkpoint
	}
	stored, err := e.Store.Get(ctx, rec.ID)
	if err != nil {
		return false, failureFromStore(err)
	}
	rec = stored
	newest, f := e.newestBuildFor(ctx, rec)
	switch {
	case f != nil:
		return false, f
	case rec.Moving != "":
		return false, beingMoved()
	case rec.GuestBuild == newest:
		return false, nil
	case !replayable(rec):
		return false, notReplayable(rec)
	}
	next, f := e.replay(ctx, rec)
	if f != nil {
		return false, f
	}
	if err := e.countFenced(checkpoint(ctx, next)); err != nil {
		return false, failureFromStore(err)
	}
	return true, nil
}

// newestBuildFor is the build of this host's guest that can replay a run.
func (e *Engine) newestBuildFor(ctx context.Context, rec *runstore.Record) (string, *failure) {
	pool, f := e.replayPool(ctx, rec)
	if f != nil {
		return "", f
	}
	build := pool.BuildID()
	return hex.EncodeToString(build[:]), nil
}

// notReplayable says why a run cannot be replayed.
func notReplayable(rec *runstore.Record) *failure {
	return failf(codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost, "code mode run cannot be replayed: %s", whyNotReplayable(rec))
}

func whyNotReplayable(rec *runstore.Record) string {
	switch {
	case rec.Live:
		return "it has no image"
	case rec.NoReplay != "":
		return rec.NoReplay
	}
	return lostNoTrace
}
