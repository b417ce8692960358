package runs

import (
	"context"
	"encoding/hex"
	"errors"
	"iter"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// A replay takes a run that was suspended by a build of the guest that is gone, and makes it
// one that this host's build has suspended: it runs the program again from its source, gives
// it in each turn what it got then, and takes an image where the log ends. What the program
// asks for in the replay is held against the log and goes nowhere: no tool is called, no
// person is asked, nothing is emitted. A program that asks for anything else takes another
// path, and is stopped.

// modernised returns the record of a run that this host can resume: rec, or what a replay
// made of it, which the store then has. Wait is how long a caller waits; 0: no caller waits.
func (v *reviver) modernised(ctx context.Context, rec *runstore.Record, claim runstore.Claim, wait time.Duration) (*runstore.Record, *codemode.Error) {
	if v.Has(rec) || !replay.Possible(rec) {
		return rec, nil
	}
	next, f := v.replay(ctx, rec, wait)
	if f != nil {
		return nil, run.WithRecord(f, rec)
	}
	if err := v.CountFenced(claim.Checkpoint(ctx, next)); err != nil {
		return nil, run.WithRecord(fault.Add(fault.FromStore(err), fault.KeptAsItWas), rec)
	}
	next.Epoch = claim.Epoch() // of its writer, as the store has it
	v.Logger.Info("a suspended run was replayed on another build of the guest", "run", rec.ID, "from", replay.ShortBuild(rec.GuestBuild), "to", replay.ShortBuild(next.GuestBuild))
	return next, nil
}

// replay runs the program of a record again and returns the record with the image of this
// host's guest. Nothing has changed in the store.
func (v *reviver) replay(ctx context.Context, rec *runstore.Record, wait time.Duration) (*runstore.Record, *codemode.Error) {
	turns, err := replay.Decode(rec.Replay)
	if err != nil {
		return nil, fault.NotRestored("%v", err)
	}
	pool, f := v.ReplayPool(ctx, rec)
	if f != nil {
		return nil, f
	}
	settings := v.SettingsOf(rec.Session)
	w, done, err := v.leaseForReplay(ctx, rec, pool, turns[0].Cell, v.slotPatience(ctx, settings, wait))
	if err != nil {
		return nil, codemode.Errorf(codemode.CodeUnavailable, "", codemode.PhaseHost, "code mode run cannot be restored now: no guest worker can replay it: %v", err)
	}
	defer done()
	if err := replay.New(w, turns, settings, v.Times.CPUGrace, v.replayStopped(ctx)).Run(ctx); err != nil {
		return nil, replay.Failure(rec, err)
	}
	image, err := w.Snapshot(ctx, int(settings.MaxSnapshot))
	if err != nil {
		return nil, fault.FromWorker(err)
	}
	next := *rec
	build := pool.BuildID()
	next.GuestBuild = hex.EncodeToString(build[:])
	_, next.GuestEngine = pool.Engine()
	next.Image, next.ImageBytes = image, 0
	next.Layers = run.IsolationOf(w.Layers()).Layers
	next.Generation++
	return &next, nil
}

// replayStopped says when a replay is given up between two turns: the host closes, or the
// caller has left, as an advancer does that makes room for one.
func (v *reviver) replayStopped(ctx context.Context) func() error {
	_, leaves := run.CallerOf(ctx)
	return func() error {
		switch {
		case v.IsClosing():
			return fault.ErrClosing
		case calls.IsClosed(leaves):
			return replay.ErrLate
		}
		return nil
	}
}

// slotPatience is until when a replay waits for a worker slot: for as long as its caller does,
// or as a turn may take if it has no caller. The turns have their own time.
func (v *reviver) slotPatience(ctx context.Context, settings codemode.Settings, wait time.Duration) time.Time {
	now := time.Now()
	left := settings.Timeout
	if wait > 0 {
		left = v.CallerGoes(ctx, now, wait).Sub(now)
	}
	return v.Clock.Now().Add(left)
}

// leaseForReplay takes one of the host's worker slots and a worker that has run nothing.
func (v *reviver) leaseForReplay(ctx context.Context, rec *runstore.Record, pool guests.Pool, cell *wire.Cell, until time.Time) (guests.Worker, func(), error) {
	owner := quota.OwnerOf(rec.Session)
	_, leaves := run.CallerOf(ctx)
	if _, err := v.AwaitSlot(ctx, rec.Session, until, leaves); err != nil {
		return nil, nil, err
	}
	w, err := pool.AcquireFresh(ctx, rec.Session.Identity(), cell.Limits)
	if err != nil {
		v.Meters.Workers.Give(owner, 1)
		return nil, nil, err
	}
	return w, func() {
		pool.Release(w)
		v.Meters.Workers.Give(owner, 1)
	}, nil
}

// Upgrade is host.Runs.Upgrade.
func (v *reviver) Upgrade(ctx context.Context, o codemode.UpgradeOptions) iter.Seq2[codemode.UpgradedRun, error] {
	return func(yield func(codemode.UpgradedRun, error) bool) {
		list, err := v.Store.List(ctx)
		for _, rec := range list {
			if !rec.Started() || rec.GuestBuild == v.Build() {
				continue
			}
			if err = context.Cause(ctx); err != nil {
				break
			}
			upgraded, f := v.upgrade(ctx, rec, o)
			if f != nil && ctx.Err() != nil { // it is the end of ctx that kept the run from it
				err = context.Cause(ctx)
				break
			}
			if !upgraded && (f == nil || isOver(f)) { // another host has done it by now
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

// IsOver reports whether a failure says that a run has ended.
func isOver(f *codemode.Error) bool {
	return f.Reason == codemode.ReasonRunUnavailable || f.Reason == codemode.ReasonRunExpired || errors.Is(f, runstore.ErrEnded)
}

// upgrade replays one run, and reports whether it was one of another build.
func (v *reviver) upgrade(ctx context.Context, rec *runstore.Record, o codemode.UpgradeOptions) (upgraded bool, _ *codemode.Error) {
	checkpoint := func(context.Context, *runstore.Record) error { return nil }
	if !o.DryRun {
		claim, err := v.Store.Claim(ctx, rec.ID)
		if err != nil {
			return false, fault.FromStore(err)
		}
		defer func() {
			defer claim.Release()
			if rec.GoesOnAlone() {
				v.LeftDue(rec.ID) // an upgrade resumes no run
			}
		}()
		checkpoint = claim.Checkpoint
	}
	stored, err := v.Store.Get(ctx, rec.ID)
	if err != nil {
		return false, fault.FromStore(err)
	}
	rec = stored
	newest, f := v.newestBuildFor(ctx, rec)
	switch {
	case f != nil:
		return false, f
	case rec.GuestBuild == newest:
		return false, nil
	case !replay.Possible(rec):
		return false, notReplayable(rec)
	}
	next, f := v.replay(ctx, rec, 0)
	if f != nil {
		return false, f
	}
	if err := v.CountFenced(checkpoint(ctx, next)); err != nil {
		return false, fault.FromStore(err)
	}
	return true, nil
}

// newestBuildFor is the build of this host's guest that can replay a run.
func (v *reviver) newestBuildFor(ctx context.Context, rec *runstore.Record) (string, *codemode.Error) {
	pool, f := v.ReplayPool(ctx, rec)
	if f != nil {
		return "", f
	}
	build := pool.BuildID()
	return hex.EncodeToString(build[:]), nil
}

// notReplayable says why a run cannot be replayed.
func notReplayable(rec *runstore.Record) *codemode.Error {
	return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost, "code mode run cannot be replayed: %s", replay.WhyNot(rec))
}
