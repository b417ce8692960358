package runs

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
)

// Several hosts may share a store. A caller may reach any of them: the host that it has
// reached takes the run if its claim is free, and else asks the host that holds the claim.
// One that does not answer loses the claim when its lease is over, and the run is taken
// over. What a host is asked by another it answers itself or not at all: no request goes
// further than one host.

// held reports whether f says that another host holds the run.
func held(f *codemode.Error) bool {
	return f != nil && (errors.Is(f, runstore.ErrClaimed) || errors.Is(f, runstore.ErrFenced))
}

// routes reports whether other hosts can be asked for runs.
func (v *reviver) routes() bool {
	_, shared := v.Store.(runstore.Shared)
	return shared && v.Peers != nil
}

// router finds the host that holds a run and asks it, for one caller.
type router struct {
	engine  *Engine
	until   time.Time // the time of the caller is over
	request cluster.Request
	tell    func(*cluster.Frame)

	silent  runstore.Owner // has not answered
	askedAt time.Time      // silent
	looked  bool
}

// newRouter returns a router for a request, or nil if other hosts cannot be asked.
func (e *Engine) newRouter(q cluster.Request, until time.Time, tell func(*cluster.Frame)) *router {
	if !e.routes() {
		return nil
	}
	return &router{engine: e, until: until, request: q, tell: tell}
}

// ask asks the host that holds the run. Without a reply, the caller looks whether the run
// is free now if again is true. Else it gives up: the host that it has reached holds the
// run itself, or the time of the caller is over.
func (q *router) ask(ctx context.Context) (reply *cluster.Reply, again bool) {
	if q == nil || !q.pause(ctx) {
		return nil, false
	}
	shared := q.engine.Store.(runstore.Shared)
	owner, err := shared.Owner(ctx, q.request.Run)
	switch {
	case errors.Is(err, runstore.ErrNotFound):
		return nil, true
	case err != nil:
		q.engine.Logger.Error("the host that holds a run was not found out", "run", q.request.Run, "error", err)
		return nil, false
	case owner.Host == shared.Host():
		return nil, false
	case owner.Address == "", owner == q.silent && time.Since(q.askedAt) < q.engine.Times.AskAgain:
		return nil, true
	}
	q.request.Host, q.request.Epoch, q.request.WaitMillis = owner.Host, owner.Epoch, max(0, time.Until(q.until).Milliseconds())
	asking, stop := q.engine.asked.watch(ctx, shared, owner.Host)
	reply, err = q.engine.Peers.Ask(asking, owner.Address, &q.request, q.tell)
	stop()
	q.engine.Observer.Metrics.Routed(err == nil)
	switch {
	case err == nil:
		return reply, false
	case ctx.Err() != nil:
		return nil, false
	case errors.Is(err, cluster.ErrUnreachable), errors.Is(err, errHostGone):
		q.engine.Logger.Warn("a host that holds a run does not answer; the run is taken over when its lease ends", "run", q.request.Run, "host", owner.Host, "address", owner.Address, "error", err)
		q.silent, q.askedAt = owner, time.Now()
	}
	return nil, true
}

// pause waits before all looks but the first. It reports whether the caller is still there.
func (q *router) pause(ctx context.Context) bool {
	if !q.looked {
		q.looked = true
		return true
	}
	if !time.Now().Before(q.until) {
		return false
	}
	select {
	case <-time.After(q.engine.Times.ClaimLook):
		return true
	case <-ctx.Done():
		return false
	}
}

func ignore(*cluster.Frame) {}

// waitElsewhere is the result of a Wait of a run that another host holds. Without one the
// caller tries again if again is true.
func (e *Engine) waitElsewhere(ctx context.Context, a *observe.Entry, q *router, d *drive.Delivery) (_ *codemode.Result, again bool) {
	caller, leaves := run.CallerOf(ctx)
	reply, again := q.ask(caller)
	if reply == nil {
		if caller.Err() != nil && leaves == nil && q != nil {
			e.abortHeld(ctx, q)
		}
		return nil, again
	}
	a.Passed()
	if reply.Result != nil {
		reply.Result.PendingApprovals = reply.PendingApprovals
	}
	if reply.Stored {
		own := d
		if own == nil {
			own = e.NewDelivery()
		}
		own.Keep(q.request.Run, nil)
		if d == nil {
			own.Done()
		}
	}
	return reply.Result, false
}

// abortHeld aborts a run after its caller has gone: it ends like a run that ends with its
// caller.
func (e *Engine) abortHeld(ctx context.Context, q *router) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.Times.DriverGrace)
	defer cancel()
	e.Abort(ctx, q.request.Session, q.request.Run)
}

// relay passes what another host tells of a run to the watch of a caller.
func relay(ctx context.Context) (tell func(*cluster.Frame), watched bool) {
	w := observe.WatchOf(ctx)
	if w == nil {
		return ignore, false
	}
	return func(f *cluster.Frame) {
		w.Tell(observe.Watched{Event: f.Event, Output: f.Output, Approval: f.Approval})
	}, true
}
