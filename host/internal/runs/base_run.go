package runs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/observe"
	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/journal"
	"github.com/quoinhq/quoin/host/internal/view"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/namespaces"
)

// baseRun is one cell from Exec to its end, across any number of Waits: what it is, its one
// state, its calls and its record in the store. Its tool calls run on goroutines of their own
// in every state.
type baseRun struct {
	env      *baseEnv
	observed *observe.Run
	id       string
	session  codemode.Session
	language string            // guarded by lifecycle.mu
	settings codemode.Settings // of its agent
	access   *view.Access
	created  time.Time

	// ctx ends with the run. Tool calls run under it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// request is the context of the newest Exec or Wait. Calls have its values.
	request atomic.Pointer[context.Context]

	lifecycle
	calls   *calls.Table
	record  *journal.Record
	effects *journal.Effects
	scopes  scopes
	used    usedTools
	wake    chan struct{} // capacity 1: the driver should look at the calls

	code  string // of the program, where this process has it
	title string
}

// newBaseRun makes an active run without a record.
func newBaseRun(e *baseEnv, id string, s codemode.Session, language string, to *view.Access) *baseRun {
	r := &baseRun{
		env: e, id: id, session: s, observed: e.Observer.Run(id, s), language: language, settings: e.SettingsOf(s), access: to,
		created: time.Now(), wake: make(chan struct{}, 1), lifecycle: lifecycle{gone: make(chan struct{})},
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.calls = calls.New(id, int(r.settings.MaxPendingCalls), &e.performing, &e.Times, calls.Account{
		Held: e.meters.held, Suspended: e.meters.suspended, Stored: e.meters.stored, CPU: e.meters.cpu, Owner: quota.OwnerOf(s),
		Denied: func(d *quota.Denied) { e.ReportDenied(s, d) },
	})
	r.effects = journal.NewEffects(e.Store, id, e.countFenced, r.effectHeader)
	return r
}

// prolong keeps the run, if it is parked, for as long as people are asked about its calls.
func (r *baseRun) prolong() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if keep := r.calls.KeepUntil(); r.now() == stateParked && keep.After(r.expires) {
		r.expires = keep
		r.expiry.Reset(time.Until(keep))
	}
}

// effectHeader is the head of the run's journal of effects.
func (r *baseRun) effectHeader() *runstore.Effects {
	now := time.Now()
	return &runstore.Effects{Session: r.session, Created: now, Expires: now.Add(r.settings.UndoTTL)}
}

// endedByCaller reports whether the run was ended by someone who knows of it, so that no one
// is to hear of it any more.
func (r *baseRun) endedByCaller() bool {
	cause := context.Cause(r.ctx)
	return errors.Is(cause, codemode.ErrAborted) || errors.Is(cause, codemode.ErrSessionEnded)
}

// A run id is runPrefix and 128 random bits in hexadecimal.
const runPrefix = "run_"

func isRunID(id string) bool {
	digits, ok := strings.CutPrefix(id, runPrefix)
	if b, err := hex.DecodeString(digits); !ok || err != nil || len(b) != 16 {
		return false
	}
	return true
}

// newRunID makes the id of a run.
func newRunID() (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", err
	}
	return runPrefix + hex.EncodeToString(id[:]), nil
}

// cancelIfActive cancels a run that is being driven. Its driver then ends it. It
// reports whether the run is being driven.
func (r *baseRun) cancelIfActive(cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now() == stateActive {
		r.cancel(cause)
		return true
	}
	return false
}

// dropIdleClaim drops the claim of a parked run that has no calls in flight here. A
// goroutine that activates the run afterwards finds the claim free; one that has
// activated it before finds it held.
func (r *baseRun) dropIdleClaim() {
	if r.now() != stateParked {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now() == stateParked && r.calls.Idle() {
		r.record.DropClaim()
	}
}

// background is the context of a call's bookkeeping. It goes on when the run has been
// cancelled.
func (r *baseRun) background() context.Context { return context.WithoutCancel(r.ctx) }

// runContext is what a plugin learns about the run.
func (r *baseRun) runContext(pluginID string) namespaces.RunContext {
	return namespaces.RunContext{
		AgentID:    r.session.AgentID,
		SessionKey: r.session.SessionKey,
		SessionID:  r.session.SessionID,
		RunID:      r.id,
		TurnID:     r.session.TurnID,
		Config:     r.env.PluginConfig[pluginID],
	}
}

// scopes are the scopes of the namespaces that a run has used. The zero value is ready.
type scopes struct {
	mu   calls.CountedMutex
	byID map[string]*namespaces.Scope
}

// get returns the scope of a namespace, or nil.
func (s *scopes) get(id string) *namespaces.Scope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID[id]
}

// put adds the scope of a namespace.
func (s *scopes) put(id string, scope *namespaces.Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string]*namespaces.Scope)
	}
	s.byID[id] = scope
}

// encoded returns the scopes as a record holds them.
func (s *scopes) encoded(failed func(id string, err error)) map[string]json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]json.RawMessage, len(s.byID))
	for id, scope := range s.byID {
		b, err := scope.MarshalJSON()
		if err != nil {
			failed(id, err)
			continue
		}
		out[id] = b
	}
	return out
}

// joined returns a context that ends with ctx or with the run.
func (r *baseRun) joined(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// view is what the run reaches now.
func (r *baseRun) view() *view.View { return r.access.View.Load() }

// isIdle reports whether the run is parked and free for other processes.
func (r *baseRun) isIdle() bool { return r.now() == stateParked && !r.record.Claimed() }

// aborted is the failure of a run whose context has ended.
func (r *baseRun) aborted() *codemode.Error {
	var own *codemode.Error // of a call that panicked
	if errors.As(context.Cause(r.ctx), &own) {
		return own
	}
	return codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "code mode run was aborted: %v", context.Cause(r.ctx))
}

// notify wakes the driver, if one is waiting.
func (r *baseRun) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}
