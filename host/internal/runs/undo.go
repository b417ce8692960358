package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/internal/runs/run"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/text"
)

// Undo is how far the effects of a run have been undone.
type Undo struct {
	*runstore.Effects
	Waiting *codemode.Result // of the run that calls an inverse and waits
	Stopped bool             // an inverse has failed, or waits
}

// Effects is what host.Effects does.
type Effects struct{ *Engine }

// Get is host.Effects.Get.
func (e Effects) Get(ctx context.Context, runID string) (*runstore.Effects, error) {
	store, f := e.store()
	if f != nil {
		return nil, f
	}
	j, err := store.Effects(ctx, runID)
	if err != nil {
		return nil, failureFromJournal(err)
	}
	return j, nil
}

// List is host.Effects.List.
func (e Effects) List(ctx context.Context) ([]*runstore.Effects, error) {
	store, f := e.store()
	if f != nil {
		return nil, f
	}
	list, err := store.ListEffects(ctx)
	if err != nil {
		return nil, failureFromJournal(err)
	}
	return list, nil
}

func (e Effects) store() (runstore.EffectStore, *codemode.Error) {
	store, ok := e.Store.(runstore.EffectStore)
	if !ok {
		return nil, codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseHost, "the store of this host does not keep how calls are undone: expected a runstore.EffectStore.")
	}
	return store, nil
}

// failureFromJournal translates why the journal of a run cannot be had.
func failureFromJournal(err error) *codemode.Error {
	switch {
	case errors.Is(err, runstore.ErrNotFound):
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunUnavailable, codemode.PhaseInput, "nothing of this run can be undone: it has called no tool that says how its calls are undone, or that was too long ago (tools.codeMode.undoTtlSeconds).")
	case errors.Is(err, runstore.ErrExpired):
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunExpired, codemode.PhaseInput, "nothing of this run can be undone any more: it was too long ago (tools.codeMode.undoTtlSeconds).")
	case errors.Is(err, runstore.ErrClaimed):
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput, "the run goes on, or it is being undone already: try again when it has ended.")
	case errors.Is(err, runstore.ErrCorrupt):
		return codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRestoreFailed, codemode.PhaseHost, "the journal of this run is damaged or was not written by this installation, so that nothing is undone.")
	}
	return fault.FromStore(err)
}

// Undo is host.Effects.Undo.
func (e Effects) Undo(ctx context.Context, s codemode.Session, runID string, skip []string) (*Undo, error) {
	store, f := e.store()
	if f != nil {
		return nil, f
	}
	if f := e.hasEnded(ctx, runID); f != nil {
		return nil, f
	}
	journal, err := store.OpenEffects(ctx, runID, nil)
	if err != nil {
		return nil, failureFromJournal(err)
	}
	defer journal.Close()
	if f := fault.MayResume(journal.Effects().Session, s); f != nil {
		return nil, f
	}
	// Until the journal was here, another process could resume the run.
	if f := e.hasEnded(ctx, runID); f != nil {
		return nil, f
	}
	u := &undoing{engine: e.Engine, journal: journal, session: s, runID: runID}
	if f := u.skip(skip); f != nil {
		return nil, f
	}
	ctx = run.WithAskingCaller(ctx) // an inverse that needs a person does not hold up its caller
	out := &Undo{}
	all := journal.Effects().Effects
	for _, effect := range slices.Backward(all) {
		if !reversible(effect.State) {
			continue
		}
		if out.Waiting, f = u.revert(ctx, effect); f != nil {
			return nil, f
		}
		if u.stopped {
			out.Stopped = true
			break
		}
	}
	out.Effects = journal.Effects()
	return out, nil
}

// reversible reports whether the inverse of an effect is to be called.
func reversible(s runstore.EffectState) bool {
	return s == runstore.EffectDone || s == runstore.EffectFailed || s == runstore.EffectReverting
}

// hasEnded refuses a run that can still continue.
func (e Effects) hasEnded(ctx context.Context, runID string) *codemode.Error {
	goesOn := codemode.Errorf(codemode.CodeInvalidInput, codemode.ReasonRunBusy, codemode.PhaseInput, "the run has not ended: wait for it, or abort it, and undo it then.")
	if e.ByID(runID) != nil {
		return goesOn
	}
	_, err := e.Store.Get(ctx, runID)
	switch {
	case err == nil:
		return goesOn
	case errors.Is(err, runstore.ErrNotFound), errors.Is(err, runstore.ErrExpired), errors.Is(err, runstore.ErrEnded):
		return nil
	}
	return fault.FromStore(err)
}

// undoing undoes the effects of one run.
type undoing struct {
	engine  *Engine
	journal runstore.EffectJournal
	session codemode.Session
	runID   string
	stopped bool
}

// skip leaves the effects of calls as they are.
func (u *undoing) skip(calls []string) *codemode.Error {
	for _, id := range calls {
		all := u.journal.Effects().Effects
		i := slices.IndexFunc(all, func(e runstore.Effect) bool { return e.CallID == id })
		if i >= 0 && all[i].State == runstore.EffectSkipped {
			continue // the same command continues after a failure
		}
		if i < 0 || !reversible(all[i].State) {
			return codemode.Errorf(codemode.CodeInvalidInput, "", codemode.PhaseInput, "%q is no call of this run that is still to be undone.", text.Cut(id, 128))
		}
		if f := u.note(all[i], runstore.EffectSkipped, all[i].Reason, true); f != nil {
			return f
		}
	}
	return nil
}

// note writes the new state of an effect.
func (u *undoing) note(e runstore.Effect, state runstore.EffectState, reason string, sync bool) *codemode.Error {
	e.State, e.Reason, e.At = state, reason, time.Now().UTC()
	if err := u.engine.CountFenced(u.journal.Put(sync, e)); err != nil {
		return fault.Add(fault.FromStore(err), " What is undone could not be written down, so that undo has stopped; start it again once the store works.")
	}
	return nil
}

// revert calls the inverse of one effect, or resumes the run that calls it.
func (u *undoing) revert(ctx context.Context, e runstore.Effect) (waiting *codemode.Result, f *codemode.Error) {
	settled := func() {}
	var res *codemode.Result
	if e.State == runstore.EffectReverting {
		d := u.engine.Deliver(ctx, u.session, e.Undo, 0)
		defer d.Release()
		settled = d.Done
		if res = d.Result; res.Reason == codemode.ReasonRunBusy {
			u.stopped = true
			return res, nil
		}
		again := u.mayRepeat(e) || res.Reason == codemode.ReasonRunExpired && !res.Dispatched
		if gone(res) {
			res = nil
		}
		if res == nil && !again {
			u.stopped = true
			return nil, u.note(e, runstore.EffectReverting, "whether its inverse has taken effect is not known, and it must not be called twice: look, and skip this call once it is undone", true)
		}
	}
	if res == nil {
		if res, f = u.call(ctx, &e); f != nil || res == nil {
			return nil, f
		}
	}
	if res.Status == codemode.StatusWaiting {
		u.stopped = true
		return res, nil
	}
	state, reason := u.outcome(e, res)
	if f := u.note(e, state, reason, true); f != nil {
		return nil, f
	}
	settled()
	u.stopped = state != runstore.EffectReverted
	return nil, nil
}

// gone reports whether the run that called an inverse has ended with its host.
func gone(res *codemode.Result) bool {
	switch res.Reason {
	case codemode.ReasonRunUnavailable, codemode.ReasonRunExpired, codemode.ReasonRestoreFailed:
		return res.Status == codemode.StatusFailed
	}
	return false
}

// inverse returns the tool that undoes an effect, as the session has it now.
func (u *undoing) inverse(e runstore.Effect) (*catalog.Tool, bool) {
	return u.engine.Views.SessionView(u.session).Catalog.ByID(e.Inverse)
}

// mayRepeat reports whether the inverse may be called again with the same key.
func (u *undoing) mayRepeat(e runstore.Effect) bool {
	tool, ok := u.inverse(e)
	return ok && (tool.Idempotent || tool.ReadOnly)
}

// call calls the inverse of an effect in a run of its own. Without a result, the effect
// cannot be undone now.
func (u *undoing) call(ctx context.Context, e *runstore.Effect) (*codemode.Result, *codemode.Error) {
	if _, ok := u.inverse(*e); !ok {
		u.stopped = true
		return nil, u.note(*e, runstore.EffectFailed, "its inverse "+e.Inverse+" is not there for this session: a plugin is missing, or a rule denies it", true)
	}
	id, err := run.NewID()
	if err != nil {
		return nil, codemode.Errorf(codemode.CodeInternal, "", codemode.PhaseHost, "random numbers are not available: %v", err)
	}
	e.Undo = id
	if f := u.note(*e, runstore.EffectReverting, "", true); f != nil {
		return nil, f
	}
	return u.engine.Exec(ctx, u.session, run.Input{
		Code: undoProgram(*e), Language: run.OwnLanguage(u.engine.SettingsOf(u.session)), Title: fmt.Sprintf("undo %s of %s", e.CallID, u.runID),
		RunID: id, IdempotencyKey: "undo:" + u.runID + ":" + strconv.Itoa(e.Number),
	}), nil
}

// undoProgram calls an inverse and returns undoOutcome. As a text the input has no meaning
// of its own, such as a key __proto__ would have.
func undoProgram(e runstore.Effect) string {
	return "try { await tools.call(" + literal(e.Inverse) + ", JSON.parse(" + literal(string(e.Input)) + ")); return {} }\n" +
		"catch (e) { return {error: String(e.message), effect: String(e.effectStatus)} }"
}

// literal is a text as a program writes it.
func literal(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("runs: a text cannot be encoded: " + err.Error()) // it always can
	}
	return string(b)
}

// undoOutcome is what the program of an inverse returns.
type undoOutcome struct {
	Error  *string `json:"error"`
	Effect string  `json:"effect"`
}

// outcome returns the state of an effect after its inverse was called, and the reason.
func (u *undoing) outcome(e runstore.Effect, res *codemode.Result) (runstore.EffectState, string) {
	out := undoOutcome{Effect: fault.EffectUnknown}
	switch {
	case res.Status != codemode.StatusCompleted:
		out.Error = &res.Error
		if !res.Dispatched {
			out.Effect = fault.EffectNone
		}
	default:
		if err := json.Unmarshal(res.Value, &out); err != nil {
			out.Error = new(fmt.Sprintf("the run %s has returned something else than its outcome", e.Undo))
		}
	}
	switch {
	case out.Error == nil, out.Effect == fault.EffectDone:
		return runstore.EffectReverted, ""
	case out.Effect == fault.EffectUnknown && !u.mayRepeat(e):
		return runstore.EffectReverting, "whether its inverse has taken effect is not known: " + *out.Error
	}
	return runstore.EffectFailed, *out.Error
}
