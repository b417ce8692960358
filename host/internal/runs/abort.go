package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// Abort is Host.Abort.
func (e *Engine) Abort(ctx context.Context, s codemode.Session, runID string) *codemode.Result {
	res, f := e.abortAnywhere(ctx, s, runID, func() (*codemode.Result, *codemode.Error) { return e.abortHere(ctx, s, runID) })
	if f != nil {
		return f.Result()
	}
	return res
}

// abortAnywhere aborts a run here, or has the host abort it that holds it.
func (e *Engine) abortAnywhere(ctx context.Context, s codemode.Session, id string, here func() (*codemode.Result, *codemode.Error)) (*codemode.Result, *codemode.Error) {
	q := e.newRouter(cluster.Request{Verb: cluster.VerbAbort, Run: id, Session: s}, time.Now().Add(e.Times.HolderPatience), ignore)
	for {
		res, f := here()
		if !held(f) {
			return res, f
		}
		switch reply, again := q.ask(ctx); {
		case again:
		case reply == nil:
			return nil, f
		case reply.Result.Code == codemode.CodeAborted:
			return reply.Result, nil
		default:
			errors.As(reply.Result.Err(), &f)
			return nil, f
		}
	}
}

// abortHere is Abort of a run that this host has, or takes.
func (e *Engine) abortHere(ctx context.Context, s codemode.Session, runID string) (*codemode.Result, *codemode.Error) {
	defer e.advancer.YieldTo(ctx, runID)()
	r := e.ByID(runID)
	aborted := codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "code mode run was aborted.")
	if r == nil {
		rec, f := e.abortStored(ctx, s, runID)
		if f != nil {
			return nil, e.explainMissing(f, s, runID)
		}
		return run.WithRecord(aborted, rec).Result(), nil
	}
	f := fault.MayResume(r.Session, s)
	if f == nil {
		f = r.Abort(ctx, codemode.ErrAborted)
	}
	if f != nil && r.HasLeft(ctx) {
		return e.abortHere(ctx, s, runID)
	}
	if f != nil {
		return nil, f
	}
	select {
	case <-r.Gone:
		return drive.WithRun(aborted, r).Result(), nil
	default: // ctx has ended; the driver may still use what drive.WithRun reads
		return aborted.Result(), nil
	}
}

// EndSession is Host.EndSession.
func (e *Engine) EndSession(ctx context.Context, s codemode.Session) (ended int, err error) {
	var errs []error
	count := func(id string, f *codemode.Error) {
		switch {
		case f == nil:
			ended++
		case f.Reason != codemode.ReasonRunUnavailable && f.Reason != codemode.ReasonRunExpired: // it ended by itself
			errs = append(errs, fmt.Errorf("run %s: %w", id, f))
		}
	}
	for _, r := range e.runsOf(s) {
		if f := r.Abort(ctx, codemode.ErrSessionEnded); !held(f) { // else it is in the store
			count(r.ID, f)
		}
	}
	records, err := e.Store.List(ctx)
	if err != nil {
		return ended, errors.Join(append(errs, err)...)
	}
	for _, rec := range records {
		if s.Covers(rec.Session) {
			_, f := e.abortAnywhere(ctx, rec.Session, rec.ID, func() (*codemode.Result, *codemode.Error) {
				_, f := e.abortStored(ctx, rec.Session, rec.ID)
				return nil, f
			})
			count(rec.ID, f)
		}
	}
	return ended, errors.Join(errs...)
}

// abortStored forgets a run that only the store knows, and returns its last record.
func (e *Engine) abortStored(ctx context.Context, s codemode.Session, id string) (*runstore.Record, *codemode.Error) {
	defer e.advancer.YieldTo(ctx, id)()
	if _, err := e.recordFor(ctx, s, id); err != nil {
		return nil, fault.FromStore(err)
	}
	claim, err := e.Store.Claim(ctx, id)
	if err != nil {
		return nil, fault.FromStore(err)
	}
	defer claim.Release()
	rec, err := e.recordFor(ctx, s, id)
	if err != nil { // it may be on its way to another store since
		return nil, fault.FromStore(err)
	}
	defer e.HoldID(ctx, id)()
	if err := e.CountFenced(claim.Delete(ctx)); err != nil {
		return nil, fault.FromStore(err)
	}
	e.CancelApprovals(ctx, rec.Calls)
	e.ObserveDiscarded(rec, fault.FromCause(codemode.ErrAborted))
	return rec, nil
}
