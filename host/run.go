package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quoinhq/quoin/guestrt"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/sandbox"
	"github.com/quoinhq/quoin/internal/wire"
	"github.com/quoinhq/quoin/namespaces"
)

// run is one cell from Exec to its end, across any number of Waits.
//
// At any moment it is either active, with one goroutine inside Exec or Wait
// driving it, or parked, with its guest in the store. A run that is resumed is
// active first, and its guest is in a worker some time later. Its tool calls run
// on goroutines of their own in every state.
type run struct {
	h        *Host
	told     told
	id       string
	session  Session
	language string
	settings Settings // of its agent
	reach    *reach
	pool     *guestrt.Pool // of the build of the guest that its images belong to
	created  time.Time

	// ctx ends with the run; tool calls run under it.
	ctx    context.Context
	cancel context.CancelCauseFunc

	// The driver's own, while active.
	output   outputBudget
	started  time.Time     // of this Exec or Wait
	allowed  time.Duration // what this Exec or Wait may take
	deadline time.Time     // of this Exec or Wait
	lastID   uint64        // of the newest request
	timerDue time.Time     // zero: no guest timer
	snapshot int           // bytes of the newest image
	layers   []wire.Layer
	carried  *outputBudget // what a host emitted and did not return before it died
	declared map[string]*scopeDeclaration
	delivery *Delivery // of its result; nil: who asked has it as soon as it is there

	used    usedTools
	changed atomic.Bool // the tools have changed since the run was suspended

	wake chan struct{} // capacity 1: something may have come into the inbox

	gone     chan struct{} // closed when the run has ended and is in no store
	overOnce sync.Once

	mu                          sync.Mutex
	active                      bool // some goroutine drives or is about to drive it
	ended                       bool
	calls                       map[uint64]*call
	inbox                       []*call                            // settled, in the order of their settling, not yet delivered
	queue                       []*call                            // waiting for a slot
	inFlight                    int                                // calls with a slot
	stops                       map[uint64]context.CancelCauseFunc // of calls that are being performed
	unwritten                   int                                // settled calls whose answers are on their way to the store
	changes                     uint64                             // counts what happened to calls
	asked                       int                                // of those in flight, how many the caller is to answer
	askings                     map[uint64]*asking                 // by call id
	answered                    []uint64                           // calls that the caller has answered
	approving                   int                                // of those in flight, how many wait for a person
	personally                  time.Time                          // since when there are any of those
	held                        *program                           // it has not started, because a person has to decide
	finished                    bool                               // nothing of it stays
	dispatched                  bool
	charged                     int64 // bytes that the host holds for it; the next two are parts
	chargedImage, chargedOutput int64
	suspended                   bool // it has one of the session's places for suspended runs
	counters                    runstore.Counters
	questions                   []time.Time // when people were asked last; of this process
	scopes                      map[string]*namespaces.Scope
	claim                       runstore.Claim
	expiry                      *time.Timer
	expires                     time.Time // of a parked run
	imageBytes                  int       // of a parked run

	// storeMu orders writes of this run to the store. It is taken before mu.
	storeMu    sync.Mutex
	generation uint64
	stored     bool    // the store holds a record of this generation
	noted      bool    // which says only that the run is live
	imaged     []*call // what the stored image waits for; guarded by mu too
	written    uint64  // the changes that the store knows of; guarded by mu too
	journaled  int     // bytes of answers in the journal of the stored image
}

// newRun makes an active run that reaches v.
func (h *Host) newRun(s Session, language string, to *reach) (*run, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	return h.makeRun(runPrefix+hex.EncodeToString(id[:]), s, language, to), nil
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

func (h *Host) makeRun(id string, s Session, language string, to *reach) *run {
	r := &run{
		h:        h,
		id:       id,
		session:  s,
		language: language,
		settings: h.settingsOf(s),
		reach:    to,
		pool:     h.pool,
		created:  time.Now(),
		wake:     make(chan struct{}, 1),
		gone:     make(chan struct{}),
		active:   true,
		calls:    make(map[uint64]*call),
		scopes:   make(map[string]*namespaces.Scope),
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r
}

// begin starts the clock and the output of one Exec or Wait.
func (r *run) begin(start time.Time) {
	r.started = start
	r.output = outputBudget{limit: r.settings.MaxOutput}
	if r.carried != nil {
		r.output.resume(r.carried)
		r.carried = nil
	}
}

// lap adds the time since the Exec or Wait began, or since the last lap, to the
// run's counters, and returns the time. The caller is the driver and holds mu.
func (r *run) lap() (now time.Time) {
	now = time.Now()
	r.counters.WallMicros += now.Sub(r.started).Microseconds()
	r.started = now
	r.counters.ApprovalMicros = r.approvalWait(now).Microseconds()
	if r.approving > 0 {
		r.personally = now
	}
	return now
}

// locked runs a step with mu held, which is free again also if the step panics.
func (r *run) locked(step func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	step()
}

// notify wakes the driver, if one is waiting.
func (r *run) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// finish ends the run: no call of it goes on, nothing of it stays stored.
func (r *run) finish(cause error) { r.finishWith(cause, func() *Result { return nil }) }

// finishWith is finish of a run whose result is wanted. The store keeps it, if it is
// to be delivered.
func (r *run) finishWith(cause error, result func() *Result) *Result {
	defer r.over()
	questions := r.lastQuestions()
	r.release(cause)
	r.tellEnded(cause)
	res := result()
	r.h.past.note(r, cause)
	r.storeMu.Lock()
	defer r.storeMu.Unlock()
	if !r.keepResult(res) {
		r.forget()
	}
	r.h.cancelApprovals(r.background(), questions) // with the claim, or another host takes them for orphans
	r.dropClaim()
	return res
}

// forget removes the run from the store. The caller holds storeMu.
func (r *run) forget() {
	if !r.stored {
		return
	}
	r.stored = false
	if err := r.h.store.Delete(context.WithoutCancel(r.ctx), r.id); err != nil {
		r.h.log.Error("a finished run was not deleted", "run", r.id, "error", err)
	}
}

// release stops what the run does in this process and leaves the store alone. It
// ends the run before it cancels the calls, so that none of them records its
// cancellation as an answer.
func (r *run) release(cause error) {
	r.mu.Lock()
	if !r.ended {
		r.giveBack()
	}
	r.ended = true
	r.queue = nil
	if r.expiry != nil {
		r.expiry.Stop()
	}
	r.mu.Unlock()
	r.cancel(cause)
	r.h.remove(r)
}

// aborted is the failure of a run that somebody has cancelled.
func (r *run) aborted() *failure {
	var own *failure // of a call that panicked
	if errors.As(context.Cause(r.ctx), &own) {
		return own
	}
	return failf(CodeAborted, "", PhaseHost, "code mode run was aborted: %v", context.Cause(r.ctx))
}

// over tells who waits for it that nothing of the run is left.
func (r *run) over() { r.overOnce.Do(func() { close(r.gone) }) }

// abortIfActive cancels a run that is being driven; its driver then ends it. It
// reports whether somebody does drive it.
func (r *run) abortIfActive(cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.active {
		r.cancel(cause)
	}
	return r.active
}

// dropClaim lets other processes have the run.
func (r *run) dropClaim() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropClaimLocked()
}

// dropIdleClaim is dropClaim unless this process drives the run or has calls of
// it in flight. Both are decided in one step with the release: whoever activates
// the run afterwards finds the claim free, and before, finds it held.
func (r *run) dropIdleClaim() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.active && r.idle() {
		r.dropClaimLocked()
	}
}

// idle reports whether nothing of the run is under way but, perhaps, its driver.
// The caller holds mu.
func (r *run) idle() bool { return r.inFlight == 0 && r.unwritten == 0 }

func (r *run) dropClaimLocked() {
	if r.claim != nil {
		r.claim.Release()
		r.claim = nil
	}
}

// completed is the result of a run whose program returned.
func (r *run) completed(value []byte) *Result {
	res := &Result{Status: StatusCompleted}
	if !r.output.fits(value) {
		if r.settings.OnOutputLimit == OutputFail {
			r.output.addValue(value)
			return r.failed(r.output.over())
		}
		r.limitPassed(limitOutput)
	}
	res.Value, res.Output = r.output.truncated(value)
	res.Value = bytes.Clone(res.Value) // else it keeps the whole report
	r.told.value = res.Value
	return r.finishWith(nil, func() *Result {
		res.Telemetry = r.telemetry()
		return res
	})
}

// failed ends the run and is its result.
func (r *run) failed(f *failure) *Result {
	f = r.withLimit(f)
	return r.finishWith(f, func() *Result { return r.failure(f) })
}

// failure is a failed result that leaves the run as it is.
func (r *run) failure(f *failure) *Result {
	r.mu.Lock()
	dispatched := r.dispatched
	r.mu.Unlock()
	return &Result{
		Status:     StatusFailed,
		Error:      boundError(f.Text),
		Code:       f.Code,
		Reason:     f.Reason,
		Phase:      f.Phase,
		Dispatched: dispatched,
		Output:     r.emitted(),
		Telemetry:  r.telemetry(),
	}
}

// emitted is the output of a result without a value.
func (r *run) emitted() []Output {
	if r.settings.OnOutputLimit == OutputTruncate {
		return r.output.within(r.output.limit)
	}
	return r.output.items
}

// telemetry counts what the run did so far.
func (r *run) telemetry() Telemetry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.telemetryAt(time.Now())
}

// telemetryAt counts what the run did until then. The caller holds mu.
func (r *run) telemetryAt(now time.Time) Telemetry {
	t := baseTelemetry(r.view())
	if c := r.reach.client; c != nil && c.turn != nil {
		t.VisibleTools = c.turn.visible
	}
	c := r.counters
	c.WallMicros += now.Sub(r.started).Microseconds()
	c.ApprovalMicros = r.approvalWait(now).Microseconds()
	t.count(c)
	t.SnapshotBytes = r.snapshot
	t.Isolation = isolation(r.layers)
	return t
}

// count takes over what the counters of a run say.
func (t *Telemetry) count(c runstore.Counters) {
	micros := func(n int64) float64 { return millis(time.Duration(n) * time.Microsecond) }
	t.ApprovalCount, t.ApprovalWaitMillis = c.Approvals, micros(c.ApprovalMicros)
	t.SearchCount, t.DescribeCount, t.CallCount, t.NamespaceCount = c.Search, c.Describe, c.Call, c.Namespace
	t.GuestCPUMillis = float64(c.CPUMicros) / 1000
	t.WallMillis = micros(c.WallMicros)
	t.PeakHeapBytes = c.PeakBytes
}

// baseTelemetry is that of a run that has done nothing. Without a view there is no
// run, and it says nothing of tools.
func baseTelemetry(v *view) Telemetry {
	t := Telemetry{Sources: map[string]int{}, VisibleTools: []string{"exec", "wait"}, Isolation: isolation(nil)}
	if v != nil {
		t.CatalogSize, t.Sources = v.catalog.Len(), maps.Clone(v.sources)
	}
	return t
}

// isolation reports the layers of the worker that ran the guest last.
func isolation(layers []wire.Layer) Isolation {
	out := Isolation{Tier: "none", Layers: map[string]string{}}
	for _, l := range layers {
		out.Layers[l.Name] = l.State
	}
	if len(layers) > 0 {
		out.Tier = sandbox.Tier(layers)
	}
	return out
}

// storedIsolation is what a record says of it.
func storedIsolation(states map[string]string) Isolation {
	layers := make([]wire.Layer, 0, len(states))
	for name, state := range states {
		layers = append(layers, wire.Layer{Name: name, State: state})
	}
	return isolation(layers)
}
