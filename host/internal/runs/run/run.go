package run

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

// Run is one cell from Exec to its end, across any number of Waits: what it is, its one
// state, its calls and its record in the store. Its tool calls run on goroutines of their own
// in every state.
type Run struct {
	Env      *Env
	Observed *observe.Run
	ID       string
	Session  codemode.Session
	Language string            // guarded by lifecycle.mu
	Settings codemode.Settings // of its agent
	Access   *view.Access
	Created  time.Time

	// Context ends with the run. Tool calls run under it.
	Context context.Context
	Cancel  context.CancelCauseFunc
	// request is the context of the newest Exec or Wait. Calls have its values.
	request atomic.Pointer[context.Context]

	lifecycle
	Calls   *calls.Table
	Record  *journal.Record
	Effects *journal.Effects
	Scopes  scopes
	Used    usedTools
	Wake    chan struct{} // capacity 1: the driver should look at the calls

	Code  string // of the program, where this process has it
	Title string
}

// New makes an active run without a record.
func New(e *Env, id string, s codemode.Session, language string, to *view.Access) *Run {
	r := &Run{
		Env: e, ID: id, Session: s, Observed: e.Observer.Run(id, s), Language: language, Settings: e.SettingsOf(s), Access: to,
		Created: time.Now(), Wake: make(chan struct{}, 1), lifecycle: lifecycle{Gone: make(chan struct{})},
	}
	r.Context, r.Cancel = context.WithCancelCause(context.Background())
	r.Calls = calls.New(id, int(r.Settings.MaxPendingCalls), &e.Performing, &e.Times, calls.Account{
		Held: e.Meters.Held, Suspended: e.Meters.Suspended, Stored: e.Meters.Stored, CPU: e.Meters.cpu, Owner: quota.OwnerOf(s),
		Denied: func(d *quota.Denied) { e.ReportDenied(s, d) },
	})
	r.Effects = journal.NewEffects(e.Store, id, e.CountFenced, r.effectHeader)
	return r
}

// Prolong keeps the run, if it is parked, for as long as people are asked about its calls.
func (r *Run) Prolong() {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if keep := r.Calls.Questions.KeepUntil(); r.Now() == Parked && keep.After(r.Expires) {
		r.Expires = keep
		r.Expiry.Reset(time.Until(keep))
	}
}

// effectHeader is the head of the run's journal of effects.
func (r *Run) effectHeader() *runstore.Effects {
	now := time.Now()
	return &runstore.Effects{Session: r.Session, Created: now, Expires: now.Add(r.Settings.UndoTTL)}
}

// EndedByCaller reports whether the run was ended by someone who knows of it, so that no one
// is to hear of it any more.
func (r *Run) EndedByCaller() bool {
	cause := context.Cause(r.Context)
	return errors.Is(cause, codemode.ErrAborted) || errors.Is(cause, codemode.ErrSessionEnded)
}

// A run id is Prefix and 128 random bits in hexadecimal.
const Prefix = "run_"

func IsID(id string) bool {
	digits, ok := strings.CutPrefix(id, Prefix)
	if b, err := hex.DecodeString(digits); !ok || err != nil || len(b) != 16 {
		return false
	}
	return true
}

// NewID makes the id of a run.
func NewID() (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", err
	}
	return Prefix + hex.EncodeToString(id[:]), nil
}

// CancelIfActive cancels a run that is being driven. Its driver then ends it. It
// reports whether the run is being driven.
func (r *Run) CancelIfActive(cause error) bool {
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Now() == Active {
		r.Cancel(cause)
		return true
	}
	return false
}

// DropIdleClaim drops the claim of a parked run that has no calls in flight here. A
// goroutine that activates the run afterwards finds the claim free; one that has
// activated it before finds it held.
func (r *Run) DropIdleClaim() {
	if r.Now() != Parked {
		return
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Now() == Parked && r.Calls.Idle() {
		r.Record.DropClaim()
	}
}

// Background returns the context of a call's bookkeeping. It does not end when the run is
// cancelled.
func (r *Run) Background() context.Context { return context.WithoutCancel(r.Context) }

// RunContext is what a plugin learns about the run.
func (r *Run) RunContext(pluginID string) namespaces.RunContext {
	return namespaces.RunContext{
		AgentID:    r.Session.AgentID,
		SessionKey: r.Session.SessionKey,
		SessionID:  r.Session.SessionID,
		RunID:      r.ID,
		TurnID:     r.Session.TurnID,
		Config:     r.Env.PluginConfig[pluginID],
	}
}

// Scopes are the Scopes of the namespaces that a run has used. The zero value is ready.
type scopes struct {
	Mu   calls.CountedMutex
	byID map[string]*namespaces.Scope
}

// Get returns the scope of a namespace, or nil.
func (s *scopes) Get(id string) *namespaces.Scope {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.byID[id]
}

// Put adds the scope of a namespace.
func (s *scopes) Put(id string, scope *namespaces.Scope) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.byID == nil {
		s.byID = make(map[string]*namespaces.Scope)
	}
	s.byID[id] = scope
}

// Encoded returns the scopes as a record holds them.
func (s *scopes) Encoded(failed func(id string, err error)) map[string]json.RawMessage {
	s.Mu.Lock()
	defer s.Mu.Unlock()
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

// Joined returns a context that ends with ctx or with the run.
func (r *Run) Joined(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.Context, func() { cancel(context.Cause(r.Context)) })
	return ctx, func() { stop(); cancel(nil) }
}

// View is what the run reaches now.
func (r *Run) View() *view.View { return r.Access.View.Load() }

// IsIdle reports whether the run is parked and free for other processes.
func (r *Run) IsIdle() bool { return r.Now() == Parked && !r.Record.Claimed() }

// Aborted returns the failure of a run after its context has ended.
func (r *Run) Aborted() *codemode.Error {
	var own *codemode.Error // of a call that panicked
	if errors.As(context.Cause(r.Context), &own) {
		return own
	}
	return codemode.Errorf(codemode.CodeAborted, "", codemode.PhaseHost, "code mode run was aborted: %v", context.Cause(r.Context))
}

// Notify wakes the driver, if one is waiting.
func (r *Run) Notify() {
	select {
	case r.Wake <- struct{}{}:
	default:
	}
}
