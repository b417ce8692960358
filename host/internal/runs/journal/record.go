package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/runs/calls"
	"github.com/quoinhq/quoin/host/internal/runs/fault"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/wire"
)

// Record is what the store has of one run: an image of its guest and the journal of the
// calls which that guest waits for. It keeps two rules while the run continues, so that a
// host that is killed at any moment leaves a run that repeats nothing and loses nothing:
//
//   - Image before calls: the calls of a stored run start once the store has an image
//     of the guest that waits for them.
//   - Journal before answer: an answer is delivered once the journal has it.
//
// A run that was never suspended is in no store and pays for neither.
type Record struct {
	id           string
	store        runstore.Store
	volatile     bool // the store ends with the process
	compactAfter int  // see maxDelivered
	log          *slog.Logger
	calls        *calls.Table
	owner        Owner
	cause        atomic.Pointer[error] // why the run was given up; nil: it was not

	claimMu  calls.CountedMutex
	leased   atomic.Bool    // claim is a runstore.Leased
	claim    runstore.Claim // nil: another process may resume the run
	reserved func()         // gives back the id of a run that has asked and has no record

	mu        calls.CountedMutex // orders writes; taken before calls.mu
	newest    Version            // the record that this process wrote last, or has read
	uncertain bool               // its first record may be in the store, although that has failed
	stored    bool               // the store holds a record of this generation; only the driver sets it
	live      bool               // that record says only that the run is live
	journaled int                // bytes of answers in the journal of the stored image
}

// Owner is what a record asks of the run that it is of.
type Owner struct {
	Describe    func(*runstore.Record) // fills in what the run is
	Identify    func(*calls.Entry)     // notes which tool a call means
	Dropped     func()                 // releases what belongs to the claim
	LeftDue     func()                 // tells the store, before the claim is released, that the run can continue
	Lost        func()                 // called once, when the record gives the run up; may be nil
	CountFenced func(error) error      // counts a write that another host's claim has fenced off, and returns its error
	Later       func(Step)             // repeats a step in the background; nil: nothing is repeated
}

// New returns the record of a run that no store has yet. Its journal holds compactAfter
// bytes of answers that were delivered before a new image supersedes them; 0 is the default.
func New(id string, store runstore.Store, compactAfter int, log *slog.Logger, table *calls.Table, owner Owner) *Record {
	_, volatile := store.(runstore.Volatile)
	return &Record{id: id, store: store, volatile: volatile, compactAfter: cmp.Or(compactAfter, maxDelivered), log: log, calls: table, owner: owner}
}

// Revive makes it the record that a store has.
func (rec *Record) Revive(stored *runstore.Record) {
	rec.newest, rec.stored = Version{stored.Generation, stored.Epoch}, true
}

// IsStored reports whether the store holds a record of this generation. The driver calls it,
// or a caller in exclusive.
func (rec *Record) IsStored() bool { return rec.stored }

// IsVolatile reports whether the store ends with the process.
func (rec *Record) IsVolatile() bool { return rec.volatile }

// Version is the Version of the record that this process wrote last, or has read. The caller
// runs it in exclusive.
func (rec *Record) Version() Version { return rec.newest }

// Locks counts how often its Locks were taken.
func (rec *Record) Locks() uint64 { return rec.mu.TimesTaken() + rec.claimMu.TimesTaken() }

// maxDelivered is how many bytes of delivered answers the journal of a run that continues
// may hold before a new image supersedes them.
const maxDelivered = 64 << 20

// Exclusive runs a step while nothing is written.
func (rec *Record) Exclusive(step func()) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	step()
}

// Valid reports whether the store has a true account of the run, which counts if this
// process is killed now. The caller holds mu.
func (rec *Record) Valid() bool { return rec.stored && !rec.live }

// journaling reports whether rec takes answers before they are delivered. Only the
// driver calls it, which alone makes that change.
func (rec *Record) journaling() bool { return rec.stored && !rec.live && !rec.volatile }

// Admit adds the requests of one turn. Calls of a run that has a record do not start yet.
func (rec *Record) Admit(reqs []wire.Request) (calls.Burst, *codemode.Error) {
	return rec.calls.Admit(reqs, !rec.journaling())
}

// Checkpoint puts fresh calls of the guest's last turn into the queue once the store knows
// them. It returns the calls that have got a slot. If lost is not nil, the store may not
// know of those calls: see run.jobs. A guest that is too large for an image continues
// without one: then the record says that the run is live.
func (rec *Record) Checkpoint(ctx context.Context, fresh []*calls.Entry, image func() ([]byte, error), complete func(*runstore.Record)) (started []*calls.Entry, lost, err error) {
	if !rec.journaling() {
		if len(fresh) > 0 {
			started = rec.calls.Start(fresh)
		}
		return started, nil, nil
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if len(fresh) == 0 && !rec.superseded() {
		return nil, nil, nil
	}
	img, err := image()
	switch {
	case fault.TooLarge(err):
		img = nil
	case err != nil:
		return nil, nil, err
	}
	r, started := rec.next(img, fresh, complete)
	if r.Live = img == nil; r.Live {
		r.Dispatched, r.Scopes = true, nil
	}
	if lost = rec.write(func(c runstore.Claim) error { return c.Checkpoint(ctx, r) }); lost != nil {
		rec.log.Error("the checkpoint of a run was not written", "run", rec.id, "error", lost)
	} else {
		rec.live = r.Live
	}
	return started, lost, nil
}

// superseded reports whether the journal holds so much that a new image is worth its
// bytes: the image carries again the answers that the guest has not got. The caller
// holds mu.
func (rec *Record) superseded() bool {
	if rec.journaled < rec.compactAfter {
		return false
	}
	waiting := rec.calls.AnswerBytes()
	return rec.journaled-waiting >= max(rec.compactAfter, 2*waiting)
}

// Suspend stores the run with an image of its guest, and then puts fresh calls of the
// last turn into the queue. It returns the stored record and the calls that have got a
// slot. Limit bounds the runs in the store; 0 means no bound. The caller runs it in
// exclusive.
func (rec *Record) Suspend(ctx context.Context, image []byte, fresh []*calls.Entry, limit int, complete func(*runstore.Record)) (*runstore.Record, []*calls.Entry, error) {
	r, started := rec.next(image, fresh, complete)
	var err error
	if rec.stored {
		err = rec.write(func(c runstore.Claim) error { return c.Checkpoint(ctx, r) })
	} else {
		err = rec.create(ctx, r, limit)
	}
	if err != nil {
		return nil, started, err
	}
	rec.stored, rec.live = true, r.Live
	return r, started, nil
}

// create puts the first record of the run into the store. The caller holds mu.
func (rec *Record) create(ctx context.Context, r *runstore.Record, limit int) error {
	claim, err := rec.store.Create(ctx, r, limit)
	switch {
	case err == nil:
		rec.SetClaim(claim)
		rec.newest.epoch = claim.Epoch()
	case !errors.Is(err, runstore.ErrFull) && !errors.Is(err, runstore.ErrClaimed) && !errors.Is(err, runstore.ErrTooLarge):
		rec.uncertain = true
	}
	return err
}

// write makes one write under the claim. The caller holds mu.
func (rec *Record) write(write func(runstore.Claim) error) error {
	if cause := rec.GaveUp(); cause != nil {
		return cause
	}
	rec.claimMu.Lock()
	claim := rec.claim
	rec.claimMu.Unlock()
	if claim == nil {
		return errNoClaim
	}
	err := rec.owner.CountFenced(write(claim))
	if errors.Is(err, runstore.ErrFenced) {
		rec.GiveUp(err)
	}
	return err
}

// errNoClaim is why a run is not written that this process has let others have.
var errNoClaim = errors.New("the run is not claimed here")

// next makes the next record of the run and puts fresh calls into the queue. The caller
// holds mu.
func (rec *Record) next(image []byte, fresh []*calls.Entry, complete func(*runstore.Record)) (r *runstore.Record, started []*calls.Entry) {
	rec.newest = Version{rec.newest.generation + 1, rec.Epoch()}
	rec.journaled = 0
	r = &runstore.Record{ID: rec.id, Format: runstore.FormatVersion, Generation: rec.newest.generation, Image: image}
	rec.owner.Describe(r)
	return r, rec.calls.Record(r, fresh, rec.owner.Identify, complete)
}

// Settle enters the outcome of a call that has a slot. The guest gets the answer once the
// journal has it. If it is not known whether the journal has it, the run is given up, also
// if no other call waits for that: another host would continue without the answer. It
// returns the calls that have got slots; if lost is not nil, the store may not know of them:
// see run.jobs.
func (rec *Record) Settle(ctx context.Context, c *calls.Entry, tool *catalog.Tool, value json.RawMessage, rejection *fault.Rejection) (started []*calls.Entry, lost error) {
	started, toStore := rec.calls.Settle(c, tool, value, rejection)
	if toStore {
		if lost = rec.Journal(ctx); fault.MayBeWritten(lost) {
			rec.GiveUp(lost)
			return started, lost
		}
		rec.calls.Deliver(c)
	}
	return started, lost
}

// Journal tells the store what has changed about the calls that the newest image waits
// for. Calls that settle during a write share the next one.
func (rec *Record) Journal(ctx context.Context) error {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if !rec.Valid() {
		return nil
	}
	err := rec.putNews(ctx)
	if errors.Is(err, runstore.ErrCallsLost) {
		rec.calls.Wrote(0)
		err = rec.putNews(ctx)
	}
	if err != nil {
		rec.log.Error("the journal of a suspended run was not written", "run", rec.id, "error", err)
	}
	return err
}

// putNews writes what has changed since the store was told last. The caller holds mu.
func (rec *Record) putNews(ctx context.Context) error {
	news, upTo := rec.calls.News()
	if len(news) == 0 {
		return nil
	}
	if err := rec.write(func(c runstore.Claim) error { return c.PutCalls(ctx, rec.newest.generation, news) }); err != nil {
		return err
	}
	for _, c := range news {
		rec.journaled += len(c.Answer) + len(c.Input) + len(c.Resume)
	}
	rec.calls.Wrote(upTo)
	return nil
}

// Forget removes the run from the store, unless another process has it by now. The
// caller runs it in exclusive.
func (rec *Record) Forget(ctx context.Context) {
	if !rec.stored && !rec.uncertain || rec.GaveUp() != nil {
		return
	}
	held := rec.Claimed()
	rec.stored = true
	err := rec.EnsureClaim(ctx)
	rec.stored, rec.uncertain = false, false
	switch {
	case errors.Is(err, runstore.ErrClaimed), errors.Is(err, runstore.ErrNotFound):
		return
	case err == nil && (held || !rec.changedElsewhere(ctx)):
		err = rec.write(func(c runstore.Claim) error { return c.Delete(ctx) })
	}
	if err != nil && !errors.Is(err, runstore.ErrFenced) {
		rec.log.Error("a finished run was not deleted; that is tried again while this host runs", "run", rec.id, "error", err)
		rec.forgetLater()
	}
}

// forgetLater removes the run from the store once the store works. Until then this process
// keeps the claim, so that no other resumes a run that has ended.
func (rec *Record) forgetLater() {
	rec.claimMu.Lock()
	claim := rec.claim
	rec.claim = nil
	rec.claimMu.Unlock()
	if rec.owner.Later == nil {
		if claim != nil {
			claim.Release()
		}
		return
	}
	newest := rec.newest
	rec.owner.Later(func(ctx context.Context) bool {
		if claim == nil {
			var err error
			if claim, err = rec.store.Claim(ctx, rec.id); err != nil {
				return errors.Is(err, runstore.ErrNotFound) || errors.Is(err, runstore.ErrClaimed)
			}
			stored, err := rec.store.Get(ctx, rec.id)
			if errors.Is(err, runstore.ErrEnded) || err == nil && !newest.IsOf(stored) {
				claim.Release()
				return true
			}
		}
		if err := rec.owner.CountFenced(claim.Delete(ctx)); err != nil && !errors.Is(err, runstore.ErrFenced) && !errors.Is(err, runstore.ErrNotFound) && ctx.Err() == nil {
			return false
		}
		claim.Release()
		return true
	})
}

// End replaces the record by the result of the run, and hands over the claim. The
// caller runs it in exclusive.
func (rec *Record) End(ctx context.Context, e *runstore.Ended) (runstore.Claim, error) {
	if err := rec.write(func(c runstore.Claim) error { return c.End(ctx, e) }); err != nil {
		return nil, err
	}
	rec.stored = false
	rec.claimMu.Lock()
	defer rec.claimMu.Unlock()
	claim := rec.claim
	rec.claim = nil
	return claim, nil
}

// changedElsewhere reports whether the store has a later state of the run than this
// process. The caller holds the claim.
func (rec *Record) changedElsewhere(ctx context.Context) bool {
	stored, err := rec.store.Get(ctx, rec.id)
	return errors.Is(err, runstore.ErrEnded) || err == nil && !rec.IsCurrent(stored)
}

// IsCurrent reports whether a record that was read is the one that this process wrote, or
// has read before.
func (rec *Record) IsCurrent(stored *runstore.Record) bool {
	return rec.newest.IsOf(stored) && !stored.Live
}

// Version tells the records of one run apart. Two hosts can write the same generation, of
// which one was not told that its write had failed; they do so by claims of two epochs.
type Version struct {
	generation uint64
	epoch      uint64 // of the claim that wrote it; 0 if the answer to Create was lost
}

func (v Version) IsOf(stored *runstore.Record) bool {
	return stored.Generation == v.generation && (v.epoch == 0 || stored.Epoch == v.epoch)
}

// EnsureClaim takes the claim of a stored run for this process, so that no other process
// resumes the run while its calls are in flight here.
func (rec *Record) EnsureClaim(ctx context.Context) error {
	if !rec.stored || rec.Claimed() {
		return nil
	}
	claim, err := rec.store.Claim(ctx, rec.id)
	if err != nil {
		return err
	}
	rec.SetClaim(claim)
	return nil
}

// Reserve holds the id of a run that has no record yet.
func (rec *Record) Reserve(ctx context.Context, store runstore.Identified) error {
	rec.claimMu.Lock()
	defer rec.claimMu.Unlock()
	if rec.reserved != nil {
		return nil
	}
	release, err := store.Reserve(ctx, rec.id)
	if err == nil {
		rec.reserved = release
	}
	return err
}

// Epoch returns the epoch of the claim; 0 without one.
func (rec *Record) Epoch() uint64 {
	rec.claimMu.Lock()
	defer rec.claimMu.Unlock()
	if rec.claim == nil {
		return 0
	}
	return rec.claim.Epoch()
}

func (rec *Record) SetClaim(claim runstore.Claim) {
	rec.claimMu.Lock()
	defer rec.claimMu.Unlock()
	rec.claim = claim
	_, leased := claim.(runstore.Leased)
	rec.leased.Store(leased)
}

// Claimed reports whether this process has the claim.
func (rec *Record) Claimed() bool {
	rec.claimMu.Lock()
	defer rec.claimMu.Unlock()
	return rec.claim != nil
}

// DropClaim lets other processes have the run. They take it up at once if it has answers
// that its guest has not got, or calls with answers that this process does not wait for any
// more.
func (rec *Record) DropClaim() {
	rec.claimMu.Lock()
	defer rec.claimMu.Unlock()
	rec.owner.Dropped()
	if claim := rec.claim; claim != nil {
		rec.claim = nil // also if Release panics
		defer claim.Release()
		if rec.stored && !errors.Is(rec.GaveUp(), runstore.ErrFenced) && (!rec.calls.Idle() || rec.calls.Status().Deliverable) {
			rec.owner.LeftDue()
		}
	}
	if release := rec.reserved; release != nil {
		rec.reserved = nil
		release()
	}
}

// Step is a step in the background that is tried until it reports that it is done.
type Step func(context.Context) (done bool)
