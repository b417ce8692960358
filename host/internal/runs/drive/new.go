package drive

import (
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/guests"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/runs/output"
	"github.com/quoinhq/quoin/host/internal/runs/pipeline"
	"github.com/quoinhq/quoin/host/internal/runs/replay"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
)

// NewEnv returns an environment without a home.
func NewEnv(base *run.Env) *Env {
	e := &Env{Env: &pipeline.Env{Env: base}, Parking: make(chan struct{})}
	e.replayRoom.Store(replay.MaxLogs)
	e.callWorkers = newCallWorkers(base.Life.Done(), callJob.perform)
	return e
}

// NewRun makes an active run of a guest in a pool.
func (e *Env) NewRun(id string, s codemode.Session, language string, to *view.Access, pool guests.Pool) *Run {
	r := &Run{Run: pipeline.New(e.Env, run.New(e.Env.Env, id, s, language, to)), env: e, pool: pool, idleSince: e.Clock.Now()}
	r.driver = &driver{guest: guest{caller: caller{run: r}}}
	if !e.Volatile() {
		r.replay = &replay.Log{Room: &e.replayRoom}
	}
	r.Record = journal.New(id, e.Store, e.CompactAfter, e.Logger, r.Calls, e.RecordOwner(r))
	return r
}

func (e *Env) RecordOwner(r *Run) journal.Owner {
	return journal.Owner{
		Describe: r.describe, Identify: r.Identify, Dropped: r.Effects.Close, LeftDue: func() { e.Home.LeftDue(r.ID) },
		Lost: func() { go r.leaveGivenUp() }, CountFenced: e.CountFenced, Later: e.UntilDone,
	}
}

// leaveGivenUp releases a run that its record has given up. The driver of an active run
// releases it itself.
func (r *Run) leaveGivenUp() {
	cause := r.Record.GaveUp()
	r.env.Guard(func() {
		for !r.IsOver() {
			if r.MoveTo(run.Active) {
				r.letGo(cause)
				return
			}
			if r.CancelIfActive(cause) {
				return
			}
		}
	})
}

// describe fills in what the run is.
func (r *Run) describe(rec *runstore.Record) {
	build := r.pool.BuildID()
	rec.GuestBuild = hex.EncodeToString(build[:])
	_, rec.GuestEngine = r.pool.Engine()
	rec.Session, rec.Language, rec.Created = r.Session, r.Language, r.Created
	rec.Fingerprint, rec.Owners = r.View().Catalog.Fingerprint(), r.View().Owners()
	rec.TimerDue, rec.Layers = r.driver.timerDue, run.IsolationOf(r.driver.layers).Layers
	rec.ToolCallID, rec.Trace = r.Observed.Parent, r.Observed.Trace
	rec.ClientTools, rec.Rules = r.Access.Client.Stored(), r.Access.StoredRules()
	rec.Tools, rec.Origin, rec.Effects = r.Used.Stored(), r.env.Origin, r.Effects.Unwritten()
	r.replay.Put(rec)
	rec.Scopes = r.Scopes.Encoded(func(id string, err error) {
		r.env.Logger.Error("a namespace scope was not stored", "run", r.ID, "namespace", id, "error", err)
	})
}

// Restore makes it the run of a record.
func (r *Run) Restore(rec *runstore.Record) *codemode.Error {
	r.Created = rec.Created
	r.Used.Digests = rec.Tools
	r.Effects.Revive(rec.Effects)
	r.Changed.Store(rec.Fingerprint != r.View().Catalog.Fingerprint())
	r.Observed.Parent, r.Observed.Trace = rec.ToolCallID, rec.Trace
	r.Record.Revive(rec)
	d := r.driver
	d.timerDue, d.carried, d.layers, d.engineID = rec.TimerDue, output.Carried(rec), run.StoredLayers(rec.Layers), rec.GuestEngine
	for id, b := range rec.Scopes {
		scope, err := namespaces.Decode(b, namespaces.Limits{})
		if err != nil {
			return fault.NotRestored("namespace %s: %v", id, err)
		}
		r.Scopes.Put(id, scope)
	}
	r.Calls.Revive(rec)
	if c := r.Calls.HeldProgram(); c != nil {
		if err := d.reviveHeld(c); err != nil {
			return fault.NotRestored("%v", err)
		}
	}
	return nil
}

// Redrive brings the calls of a revived run to where the host that stopped left
// them. What was in flight is made again if that is harmless, else it rejects:
// nothing is silently repeated or lost.
func (r *Run) Redrive() {
	held := r.Calls.Questions.UnholdAll()
	started, lost := r.Calls.Redrive(r.mayRepeat)
	pipeline.Observer{Run: r.Run}.ObserveInterrupted(lost)
	for _, c := range held { // their tools, which waited for answers, are gone
		r.env.CancelApproval(r.Background(), c.Held)
		r.Observed.ApprovalCancelled(observe.Approval{ID: c.Held, CallID: calls.PublicID(&c), Method: c.Method, ToolID: c.Tool, Decision: string(policy.StateCancelled)})
	}
	r.launch(started, r.Record.Journal(r.Background()))
}

// mayRepeat reports whether it is harmless to make a call again that was in flight when
// its host stopped.
func (r *Run) mayRepeat(c *calls.Entry) bool {
	switch c.Method {
	case calls.MethodExec, string(wire.MethodProgram): // the program has not started
		return true
	}
	tool, ok := r.View().Catalog.ByID(c.Tool)
	return ok && (tool.ReadOnly || tool.Idempotent || r.Access.Client.Asks(c.Tool))
}

// reviveHeld reads the program of a run that was stored before it started.
func (g *guest) reviveHeld(c *calls.Entry) error {
	var p pipeline.Program
	if err := json.Unmarshal(c.Args, &p); err != nil {
		return fmt.Errorf("its program: %w", err)
	}
	g.held, g.run.Language, g.run.Code = &p, p.Language, p.Code
	return nil
}
