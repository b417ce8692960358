package runs

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/runs/upkeep"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
)

// reviver makes runs of this process of those in the store.
type reviver struct {
	*drive.Env
	*guests.Guests
	*registry

	advancer *upkeep.Advancer // nil: no run continues without a caller

	// lastWakes bounds what a host that closes tells others of its runs; nil: it releases no
	// runs.
	lastWakes atomic.Pointer[context.Context]
}

// load takes a run that another process, or this one in an earlier life, has
// parked in the store.
func (v *reviver) load(ctx context.Context, s codemode.Session, id string, wait time.Duration, turn *view.ClientTools) (r *drive.Run, rec *runstore.Record, f *codemode.Error) {
	rec, err := v.recordFor(ctx, s, id)
	if err != nil {
		return nil, nil, fault.FromStore(err)
	}
	v.AwaitOwners(ctx, s, rec, wait)
	claim, err := v.claim(ctx, rec, min(wait, v.Times.ClaimPatience))
	if err != nil {
		return nil, nil, fault.FromStore(err)
	}
	passedOn, newest := false, rec
	defer func() {
		if passedOn {
			return
		}
		defer claim.Release() // the run was refused, or the store panicked
		if f != nil && newest.GoesOnAlone() {
			v.LeftDue(id) // another host may have what this one lacks
		}
	}()
	// The process that held the claim may have changed or finished the run.
	rec, err = v.recordFor(ctx, s, id)
	if err != nil {
		return nil, nil, fault.FromStore(err)
	}
	newest = rec
	if rec.Live {
		passedOn = true
		return nil, nil, v.endDeadRun(ctx, rec, claim)
	}
	to, f := v.accessOf(s, rec, turn)
	if f != nil {
		return nil, nil, run.WithRecord(f, rec)
	}
	rec, f = v.modernised(ctx, rec, claim, wait)
	if f != nil {
		return nil, nil, f
	}
	r, f = v.revive(ctx, s, rec, to)
	if f == nil {
		r.Record.SetClaim(claim)
		f = v.add(r)
	}
	if f != nil {
		return nil, nil, run.WithRecord(f, rec)
	}
	passedOn = true
	defer r.ContainReopen(&f)
	r.Calls.Costs.ChargeRevived(len(rec.Image))
	r.DrivenBy(ctx)
	r.Redrive()
	return r, rec, nil
}

// claim waits for a process that is finishing calls of the run or advances it, and for no
// other. One that can be asked is asked instead.
func (v *reviver) claim(ctx context.Context, rec *runstore.Record, wait time.Duration) (runstore.Claim, error) {
	if v.routes() {
		wait = 0
	}
	deadline := time.Now().Add(wait)
	tick := time.NewTicker(v.Times.ClaimRetry)
	defer tick.Stop()
	for {
		claim, err := v.Store.Claim(ctx, rec.ID)
		if !errors.Is(err, runstore.ErrClaimed) || !mayGoOn(rec) || time.Now().After(deadline) {
			return claim, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, runstore.ErrClaimed
		}
	}
}

// mayGoOn reports whether another process may have a run because calls of it are in flight
// there, or because it advances the run.
func mayGoOn(rec *runstore.Record) bool {
	at, ok := rec.DueAt()
	return ok && !time.Now().Before(at)
}

// endDeadRun ends a run that was running when its host was killed. No process drives it: its
// claim was free. What is known of it becomes its result, which the store keeps for a wait:
// an answer or an advancer may have found the run.
func (v *reviver) endDeadRun(ctx context.Context, rec *runstore.Record, claim runstore.Claim) *codemode.Error {
	defer claim.Release()
	defer v.HoldID(ctx, rec.ID)()
	f := deadRun(rec)
	result, err := f.Result().MarshalJSON()
	if err == nil {
		err = v.CountFenced(claim.End(ctx, &runstore.Ended{
			ID: rec.ID, Session: rec.Session, Expires: calls.Later(rec.Expires, time.Now().Add(v.SettingsOf(rec.Session).SnapshotTTL)), Result: result,
		}))
	}
	if err != nil {
		return run.WithRecord(fault.FromStore(err), rec)
	}
	v.CancelApprovals(ctx, rec.Calls)
	v.ObserveDiscarded(rec, f)
	f.Err = runstore.ErrEnded
	return f
}

// deadRun returns the failure of a run that was running when its host was killed.
func deadRun(rec *runstore.Record) *codemode.Error {
	var unknown []string
	for _, c := range rec.Calls {
		if c.State == runstore.CallInFlight && c.Tool != "" {
			unknown = append(unknown, c.Tool)
		}
	}
	text := "code mode run is unavailable: its host stopped while the program was running. Tools had been called and may have taken effect; check before you start it again."
	if len(unknown) > 0 {
		text += " Without an answer: " + strings.Join(unknown, ", ") + "."
	}
	return run.WithRecord(codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseHost, "%s", text), rec)
}

// accessOf returns what the run of a record reaches, which must have what the run was
// suspended with.
func (v *reviver) accessOf(s codemode.Session, rec *runstore.Record, turn *view.ClientTools) (*view.Access, *codemode.Error) {
	to, err := v.Views.RestoreAccess(s, rec, turn)
	if err != nil {
		return nil, fault.NotRestored("%v", err)
	}
	return to, v.checkComplete(to.View.Load(), rec)
}

// revive makes an active run of a record.
func (v *reviver) revive(ctx context.Context, s codemode.Session, rec *runstore.Record, to *view.Access) (*drive.Run, *codemode.Error) {
	pool, f := v.PoolOf(ctx, rec)
	if f != nil {
		return nil, f
	}
	r := v.NewRun(rec.ID, s, rec.Language, to, pool)
	return r, r.Restore(rec)
}

// recordFor returns the record of a run of the session. What is known of one that has
// expired is in the error.
func (v *reviver) recordFor(ctx context.Context, s codemode.Session, id string) (*runstore.Record, error) {
	rec, err := v.Store.Get(ctx, id)
	if rec != nil {
		if f := fault.MayResume(rec.Session, s); f != nil {
			return nil, f
		}
	}
	if err != nil {
		return nil, run.WithRecord(fault.FromStore(err), rec)
	}
	return rec, nil
}
