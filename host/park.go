package host

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// suspend parks the run with its guest. Its tool calls go on; their answers wait
// in the inbox and, for a store that outlives the host, in the journal.
func (l *leg) suspend() *Result {
	r := l.run
	if l.image == nil {
		image, err := l.snapshot()
		if err != nil {
			return r.failed(l.blame(err))
		}
		l.image = image
	}
	r.snapshot = len(l.image)
	if f := r.park(l.image); f != nil {
		return r.failed(f)
	}
	return r.waiting()
}

// waiting is the result of a parked run.
func (r *run) waiting() *Result {
	calls, reason := r.pending()
	r.tellSuspended(reason)
	return &Result{
		Status:           StatusWaiting,
		RunID:            r.id,
		Reason:           reason,
		PendingToolCalls: calls,
		Output:           r.output.items,
		Telemetry:        r.telemetry(),
	}
}

// park stores the run with its guest's image and lets go of it.
func (r *run) park(image []byte) *failure {
	r.storeMu.Lock()
	defer r.storeMu.Unlock()
	if f := r.ensureClaim(); f != nil {
		return f
	}
	r.generation++
	ttl := r.h.settings.SnapshotTTL
	r.mu.Lock()
	r.active, r.live = false, false
	r.counters.WallMicros += time.Since(r.started).Microseconds()
	r.started = time.Now() // what came before is counted
	rec := r.storedLocked(image, time.Now().Add(ttl))
	r.mu.Unlock()
	if err := r.h.store.Put(r.background(), rec, int(r.h.settings.MaxSuspended)); err != nil {
		r.mu.Lock()
		r.active = true
		r.mu.Unlock()
		return ofStore(err)
	}
	r.stored, r.noted = true, false
	r.mu.Lock()
	r.expiry = time.AfterFunc(ttl, r.expire)
	r.mu.Unlock()
	r.dropIdleClaim()
	return nil
}

// ensureClaim takes the claim for this process, so that no other one resumes the
// run while calls of it are in flight here.
func (r *run) ensureClaim() *failure {
	r.mu.Lock()
	held := r.claim != nil
	r.mu.Unlock()
	if held {
		return nil
	}
	c, err := r.h.store.Claim(r.background(), r.id)
	if err != nil {
		return ofStore(err)
	}
	r.mu.Lock()
	r.claim = c
	r.mu.Unlock()
	return nil
}

// storedLocked describes the run for the store. The caller holds mu.
func (r *run) storedLocked(image []byte, expires time.Time) *runstore.Record {
	build := r.h.pool.BuildID()
	rec := &runstore.Record{
		ID:          r.id,
		Format:      runstore.FormatVersion,
		Generation:  r.generation,
		GuestBuild:  hex.EncodeToString(build[:]),
		Session:     r.session.stored(),
		Language:    r.language,
		Created:     r.created,
		Expires:     expires,
		Fingerprint: r.view().catalog.Fingerprint(),
		Dispatched:  r.dispatched,
		TimerDue:    r.timerDue,
		ToolCallID:  r.told.parent,
		Trace:       r.told.trace,
		Scopes:      make(map[string]json.RawMessage, len(r.scopes)),
		Counters:    r.counters,
		ClientTools: r.reach.client.stored(),
		Rules:       r.reach.storedRules(),
		Answered:    slices.Clone(r.answered),
		Tools:       r.used.stored(),
		Calls:       r.journalLocked(),
		Image:       image,
	}
	for id, scope := range r.scopes {
		b, err := scope.MarshalJSON()
		if err != nil {
			r.h.log.Error("a namespace scope was not stored", "run", r.id, "namespace", id, "error", err)
			continue
		}
		rec.Scopes[id] = b
	}
	return rec
}

func (r *run) journalLocked() []runstore.Call {
	out := make([]runstore.Call, 0, len(r.calls))
	for _, c := range r.sortedCalls() {
		out = append(out, c.Call)
	}
	return out
}

// journal brings the journal of a stored run up to date.
func (r *run) journal() {
	r.storeMu.Lock()
	defer r.storeMu.Unlock()
	if err := r.writeJournal(); err != nil {
		r.h.log.Error("the journal of a suspended run was not written", "run", r.id, "error", err)
	}
}

// writeJournal stores the journal if the run has an image in the store that is
// not out of date. The caller holds storeMu.
func (r *run) writeJournal() error {
	if !r.stored {
		return nil
	}
	r.mu.Lock()
	calls, useful := r.journalLocked(), !r.live && !r.ended
	r.mu.Unlock()
	if !useful {
		return nil
	}
	return r.h.store.PutCalls(r.background(), r.id, r.generation, calls)
}

// beforeDispatch makes the store fit for a call that is about to leave. Of a
// stored run it records that the call is in flight. Of a live run it replaces the
// image, which resumed again would make the call twice, by a note that the run
// was going on.
func (r *run) beforeDispatch() error {
	r.storeMu.Lock() // a run does not stop being live while this is held
	defer r.storeMu.Unlock()
	if !r.stored || r.noted {
		return nil
	}
	r.mu.Lock()
	live := r.live
	r.mu.Unlock()
	if !live {
		return r.writeJournal()
	}
	return r.note()
}

// note replaces the stored image by the note that the run has gone on. The caller
// holds storeMu.
func (r *run) note() error {
	r.mu.Lock()
	rec := r.storedLocked(nil, time.Now().Add(r.h.settings.SnapshotTTL))
	r.mu.Unlock()
	rec.Live, rec.Dispatched, rec.Scopes = true, true, nil
	if err := r.h.store.Put(r.background(), rec, 0); err != nil {
		return err
	}
	r.noted = true
	return nil
}

// expire ends a parked run that nobody came back for. Another process that shares
// the store may have resumed it: then it is only forgotten here.
func (r *run) expire() {
	r.mu.Lock()
	parked := !r.active && !r.ended
	if parked {
		r.active = true // nobody else resumes it now
	}
	r.mu.Unlock()
	if !parked {
		return
	}
	if f := r.ensureClaim(); f != nil || r.changedElsewhere() {
		r.release(runstore.ErrExpired)
		r.dropClaim()
		return
	}
	r.finish(runstore.ErrExpired)
}

// changedElsewhere reports whether the store has a later state of the run than
// this process. The caller holds the claim.
func (r *run) changedElsewhere() bool {
	rec, err := r.h.store.Get(r.background(), r.id)
	return err == nil && (rec.Generation != r.generation || rec.Live)
}
