package host

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// What a store holds of a run is an image of its guest and the journal of the
// calls which that guest waits for. The two stay a true account while the run
// goes on: before a resumed guest's calls leave, a new image is stored that waits
// for them, and before an answer is delivered the journal has it. A host that is
// killed at any moment leaves a run that repeats nothing and loses nothing. Runs
// that were never suspended are in no store and pay for none of this.

// keeps reports whether the store has a true account of the run that it would be
// asked for if this process were killed now. The caller holds storeMu.
func (r *run) keeps() bool {
	return r.stored && !r.noted
}

// maxDelivered is how many bytes of answers that the guest has got the journal of a
// run that goes on may hold before a new image supersedes them.
const maxDelivered = 64 << 20

// checkpoint puts calls of the guest's last turn into the queue, once the store
// knows of them, and starts those that have a slot. A guest too large for an image
// goes on without one: then the record says that the run is live.
func (l *leg) checkpoint(fresh []*call) error {
	r := l.run
	r.storeMu.Lock()
	defer r.storeMu.Unlock()
	if len(fresh) == 0 && !r.superseded() {
		return nil
	}
	if !r.keeps() || r.h.volatile() {
		var started []*call
		r.locked(func() { started = r.enqueue(fresh) })
		r.launch(started, nil)
		return nil
	}
	image, err := l.still()
	switch {
	case tooLarge(err):
		image = nil
	case err != nil:
		return err
	}
	var (
		started []*call
		rec     *runstore.Record
	)
	r.locked(func() {
		r.lap()
		started = r.enqueue(fresh)
		rec = r.describe(image, l.deadline.Add(r.settings.SnapshotTTL))
	})
	for _, o := range r.output.items {
		rec.Output = append(rec.Output, runstore.Output{Kind: string(o.Kind), Value: o.Value})
	}
	rec.Omitted = r.output.omitted
	if rec.Live = image == nil; rec.Live {
		rec.Dispatched, rec.Scopes = true, nil
	}
	err = r.h.store.Checkpoint(r.background(), rec)
	if err == nil {
		r.noted = rec.Live
	} else {
		r.h.log.Error("the checkpoint of a run was not written", "run", r.id, "error", err)
	}
	r.launch(started, err)
	return nil
}

// superseded reports whether the journal holds so much that a new image is worth
// its bytes: it carries the answers again that the guest has not got. The caller
// holds storeMu.
func (r *run) superseded() bool {
	if r.journaled < r.h.maxDelivered {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting := 0
	for _, c := range r.calls {
		waiting += len(c.Answer)
	}
	return r.journaled-waiting >= max(r.h.maxDelivered, 2*waiting)
}

// put stores the run anew. The caller holds storeMu.
func (r *run) put(rec *runstore.Record) error {
	limit := int(r.h.settings.MaxSuspended)
	if r.stored || r.h.isClosing() {
		limit = 0
	}
	if err := r.h.store.Put(r.background(), rec, limit); err != nil {
		return err
	}
	r.stored, r.noted = true, rec.Live
	return nil
}

// describe is the next record of the run. The caller holds storeMu and mu.
func (r *run) describe(image []byte, expires time.Time) *runstore.Record {
	r.generation++
	r.setImaged(r.sortedCalls())
	for _, c := range r.imaged {
		r.identify(c)
	}
	r.written, r.journaled = r.changes, 0
	build := r.pool.BuildID()
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
		Owners:      r.view().owners(),
		Origin:      r.h.cfg.Origin,
		Layers:      isolation(r.layers).Layers,
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

// journalLocked is the journal of the newest image: every call it waits for, also
// those whose answers the guest has got since. The caller holds mu.
func (r *run) journalLocked() []runstore.Call {
	out := make([]runstore.Call, 0, len(r.imaged))
	for _, c := range r.imaged {
		out = append(out, c.Call)
	}
	return out
}

// touch notes that something has become of a call. The caller holds mu.
func (r *run) touch(c *call) {
	r.changes++
	c.changed = r.changes
}

// journal tells the store what has become of the calls that the newest image waits
// for. Calls that settle while a write is under way share the next one.
func (r *run) journal() error {
	r.storeMu.Lock()
	defer r.storeMu.Unlock()
	if !r.keeps() {
		return nil
	}
	r.mu.Lock()
	upTo := r.changes
	var news []runstore.Call
	for _, c := range r.imaged {
		if !r.ended && c.changed > r.written {
			news = append(news, c.Call)
		}
	}
	r.mu.Unlock()
	if len(news) == 0 {
		return nil
	}
	if err := r.h.store.PutCalls(r.background(), r.id, r.generation, news); err != nil {
		r.h.log.Error("the journal of a suspended run was not written", "run", r.id, "error", err)
		return err
	}
	for _, c := range news {
		r.journaled += len(c.Answer) + len(c.Input)
	}
	r.mu.Lock()
	r.written = upTo
	r.mu.Unlock()
	return nil
}
