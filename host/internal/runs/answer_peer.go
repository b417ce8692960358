package runs

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/cluster"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/drive"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/internal/jsontext"
)

// AnswerPeer answers another host, which has asked about a run that this host holds.
func (e *Engine) AnswerPeer(ctx context.Context, q *cluster.Request, tell func(*cluster.Frame)) *cluster.Reply {
	if !e.holds(q) {
		return &cluster.Reply{NotHere: true}
	}
	switch q.Verb {
	case cluster.VerbWait:
		return e.waitForPeer(ctx, q, tell)
	case cluster.VerbAbort:
		res, f := e.abortHere(ctx, q.Session, q.Run)
		return e.peerReply(res, f)
	default:
		err := e.answerHere(ctx, q.Session, q.Run, q.Call, codemode.ToolAnswer{Value: q.Value, Error: q.Error})
		var f *codemode.Error
		if err != nil && !errors.As(err, &f) {
			f = codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "%v", err) // the asker is gone
		}
		return e.peerReply(nil, f)
	}
}

// holds reports whether this host has the run under the claim that the asker has seen, or a
// later one.
func (e *Engine) holds(q *cluster.Request) bool {
	r := e.ByID(q.Run)
	if r == nil {
		return false
	}
	epoch := r.Record.Epoch()
	return epoch != 0 && epoch >= q.Epoch
}

// peerReply is the reply of what has no result of a run unless it has failed.
func (e *Engine) peerReply(res *codemode.Result, f *codemode.Error) *cluster.Reply {
	switch {
	case held(f), f != nil && e.IsClosing(): // the run is free soon
		return &cluster.Reply{NotHere: true}
	case f != nil:
		return &cluster.Reply{Result: f.Result()}
	case res == nil:
		return &cluster.Reply{Done: true}
	}
	return &cluster.Reply{Result: res, PendingApprovals: approvalsForPeer(res.PendingApprovals)}
}

// approvalsForPeer returns the first approvals, as many as fit into a reply. Host.Approvals
// has the others.
func approvalsForPeer(all []codemode.PendingApproval) []codemode.PendingApproval {
	room := cluster.MaxApprovals
	for i := range all {
		text, err := jsontext.Marshal(&all[i])
		if room -= len(text) + len(","); err != nil || room < 0 {
			return all[:i]
		}
	}
	return all
}

// waitForPeer drives a run for the caller of another host. When ctx ends, the run is
// suspended. The store keeps its result until that host has delivered it.
func (e *Engine) waitForPeer(ctx context.Context, q *cluster.Request, tell func(*cluster.Frame)) *cluster.Reply {
	ctx = observe.WithToolCallID(run.LeavesTheRun(ctx), q.ToolCallID)
	if q.Asks {
		ctx = run.WithAskingCaller(ctx)
	}
	d := e.NewDelivery()
	var reply *cluster.Reply
	if wait := func(ctx context.Context) { reply = e.peerReply(e.waitHeld(ctx, q, d)) }; q.Watch {
		watched(ctx, wait, tell)
	} else {
		wait(ctx)
	}
	reply.Stored = d.Release() && reply.Result != nil
	return reply
}

// waitHeld is Wait of a run that another host has asked for.
func (e *Engine) waitHeld(ctx context.Context, q *cluster.Request, d *drive.Delivery) (res *codemode.Result, f *codemode.Error) {
	defer e.containRefusal(&res)
	a := e.Observer.Enter(ctx, ToolWait, q.Session)
	if res, f = e.waitHere(ctx, a, q.Session, q.Run, q.Wait(), nil, d); f == nil {
		a.End(res)
	}
	return res, f
}

// watched calls drive and tells what happens in the run until drive returns.
func watched(ctx context.Context, drive func(context.Context), tell func(*cluster.Frame)) {
	w := observe.NewWatch()
	defer w.Close()
	over := make(chan struct{})
	pass := func() {
		for _, one := range w.Take() {
			tell(&cluster.Frame{Event: one.Event, Output: one.Output, Approval: one.Approval})
		}
	}
	go func() {
		defer close(over)
		drive(observe.WithWatch(ctx, w))
	}()
	for {
		select {
		case <-w.Wake():
			pass()
		case <-over:
			pass()
			return
		}
	}
}
