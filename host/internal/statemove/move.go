package statemove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/documents"
	"github.com/quoinhq/quoin/internal/pluginstorage"
)

// State is what is carried. Only what both states have is.
type State struct {
	Runs interface {
		runstore.Store
		runstore.Inventory
		runstore.Identified
	}
	Approvals policy.Approvals
	Documents []documents.Portable // in the order in which they are carried
	Storages  Storages
}

// What became of a run.
const (
	Moved  = "moved"
	Copied = "copied"
	Left   = "left" // Reason says why
	Gone   = "gone" // it has ended by now
)

// Outcome is what became of one run, result, journal of effects, document or storage.
type Outcome struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	What   string `json:"outcome"`
	Reason string `json:"reason,omitempty"`
}

// Mover carries what states have. Both states must be in use by it alone among movers.
type Mover struct{ From, To State }

// leave says that a run stays where it is.
type leave string

func (l leave) Error() string { return string(l) }

// errWithRun says that a journal of effects goes with its run.
var errWithRun = errors.New("it goes with its run")

// errStays says that something was copied, because the source keeps it.
var errStays = errors.New("the source keeps it")

// errSame says that the destination has the same already.
var errSame = errors.New("it is there already")

// Move carries everything and calls did with the outcome of each: first what runs need, then
// runs, results and journals. It ends with the first error of a store; the next Move
// continues there.
func (m *Mover) Move(ctx context.Context, did func(Outcome) error) error {
	if err := m.differ(); err != nil {
		return err
	}
	if err := m.arriveDocuments(ctx, did); err != nil {
		return err
	}
	if err := m.arrive(ctx, did); err != nil {
		return err
	}
	if err := m.eachDocument(ctx, did, Moved, m.moveDocument); err != nil {
		return err
	}
	if err := m.eachStorage(ctx, did, Moved, moveStorage); err != nil {
		return err
	}
	return m.each(ctx, m.From, did, Moved, m.move)
}

// differ refuses to carry a state into itself.
func (m *Mover) differ() error {
	if m.From.Runs.Identity() == m.To.Runs.Identity() {
		return errors.New("both are the same state, or one is a copy of the other")
	}
	return nil
}

// Copy copies everything into the destination, marked, and changes nothing in the source.
// Journals of effects are left.
func (m *Mover) Copy(ctx context.Context, did func(Outcome) error) error {
	return m.copyAll(ctx, did, m.copyDocument, m.copy)
}

// Import takes what the destination does not have of a copy.
func (m *Mover) Import(ctx context.Context, did func(Outcome) error) error {
	return m.copyAll(ctx, did, m.takeDocument, m.take)
}

func (m *Mover) copyAll(ctx context.Context, did func(Outcome) error, doc func(context.Context, *document) error, run func(context.Context, runstore.Item) error) error {
	if err := m.differ(); err != nil {
		return err
	}
	if err := m.eachDocument(ctx, did, Copied, doc); err != nil {
		return err
	}
	if err := m.eachStorage(ctx, did, Copied, func(ctx context.Context, from, to pluginstorage.Movable) error {
		_, err := copyStorage(ctx, from, to, errSame)
		return err
	}); err != nil {
		return err
	}
	return m.each(ctx, m.From, did, Copied, run)
}

// each calls carry with every item of a state.
func (m *Mover) each(ctx context.Context, of State, did func(Outcome) error, done string, carry func(context.Context, runstore.Item) error) error {
	items, err := of.Runs.Items(ctx)
	if err != nil {
		return err
	}
	for _, item := range items {
		if err := report(Outcome{ID: item.ID, Kind: string(item.Kind), What: done}, carry(ctx, item), did); err != nil {
			return err
		}
	}
	return nil
}

// report calls did with what became of something. It returns the errors of a store.
func report(out Outcome, err error, did func(Outcome) error) error {
	var why leave
	switch {
	case err == nil:
	case errors.Is(err, errWithRun), errors.Is(err, errSame):
		return nil
	case errors.Is(err, errStays):
		out.What = Copied
	case errors.As(err, &why):
		out.What, out.Reason = Left, string(why)
	case errors.Is(err, runstore.ErrClaimed):
		out.What, out.Reason = Left, "a host has it: move it again later"
	case errors.Is(err, runstore.ErrExpired), errors.Is(err, runstore.ErrNotFound), errors.Is(err, runstore.ErrEnded), errors.Is(err, fs.ErrNotExist):
		out.What = Gone
	case errors.Is(err, runstore.ErrCorrupt), errors.Is(err, runstore.ErrFormat):
		out.What, out.Reason = Left, err.Error()
	default:
		return fmt.Errorf("%s %s: %w", out.Kind, out.ID, err)
	}
	return did(out)
}

// move carries one item.
func (m *Mover) move(ctx context.Context, item runstore.Item) error {
	switch item.Kind {
	case runstore.ItemRun:
		return m.moveRun(ctx, item.ID)
	case runstore.ItemResult:
		return m.moveResult(ctx, item.ID)
	case runstore.ItemEffects:
		if _, err := m.From.Runs.Get(ctx, item.ID); err == nil {
			return errWithRun
		}
		return m.moveEffects(ctx, item.ID)
	}
	return leave("this version does not know what it is")
}

func (m *Mover) moveRun(ctx context.Context, id string) error {
	claim, err := m.From.Runs.Claim(ctx, id)
	if err != nil {
		return err
	}
	defer claim.Release()
	rec, err := m.From.Runs.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := m.From.wake(ctx, rec); err != nil { // it may stay
		return err
	}
	switch {
	case rec.Live:
		return leave("its host has ended while the program was running: wait for it once, to be told what is known of it")
	case rec.Moving == markCopy:
		return leave("it is a copy: quoin state import takes it")
	case strings.HasPrefix(rec.Moving, markFrom):
		return leave("it is on its way from another store: repeat that move first")
	case strings.HasPrefix(rec.Moving, markResult):
		return errWithRun
	case rec.Moving != "" && rec.Moving != m.outgoing():
		return leave("it is on its way to another store: repeat that move. If that store is lost, quoin state export and import bring the run to a new one")
	}
	if rec.Moving == "" {
		rec.Moving = m.outgoing()
		rec.Generation++ // a host that has the run in memory finds that out
		if err := claim.Checkpoint(ctx, rec); err != nil {
			return err
		}
	}
	there, err := m.stage(ctx, rec, m.incoming())
	if err != nil {
		var why leave
		if errors.As(err, &why) { // the source stays as it was
			if failed := m.From.activate(ctx, claim, rec); failed != nil {
				return failed
			}
		}
		return err
	}
	defer there.Release()
	if err := m.moveEffects(ctx, id); err != nil && !errors.Is(err, runstore.ErrNotFound) && !errors.Is(err, runstore.ErrExpired) {
		return err
	}
	if err := m.copyApprovals(ctx, rec); err != nil {
		return err
	}
	if err := claim.Delete(ctx); err != nil {
		return err
	}
	if err := m.copyApprovals(ctx, rec); err != nil { // a person may have decided by now
		return err
	}
	if err := m.To.activate(ctx, there, rec); err != nil {
		return err
	}
	return m.discardApprovals(ctx, rec)
}

// stage puts the record into the destination, marked, and claims it there.
func (m *Mover) stage(ctx context.Context, rec *runstore.Record, mark string) (runstore.Claim, error) {
	staged := *rec
	staged.Moving = mark
	claim, err := m.To.Runs.Create(ctx, &staged, 0)
	if !errors.Is(err, runstore.ErrClaimed) {
		return claim, err
	}
	// It may be from a move that was interrupted.
	if claim, err = m.To.Runs.Claim(ctx, rec.ID); err != nil {
		return nil, err
	}
	known, err := m.To.Runs.Get(ctx, rec.ID)
	switch {
	case errors.Is(err, runstore.ErrEnded):
		err = leave("the destination has a result of this run: one of them is a copy")
	case err == nil && !m.brought(known.Moving):
		err = leave("the destination has this run: one of them is a copy")
		if failed := m.To.wake(ctx, known); failed != nil {
			err = failed
		}
	case err == nil:
		err = claim.Checkpoint(ctx, &staged)
	}
	if err != nil {
		claim.Release()
		return nil, err
	}
	return claim, nil
}

// activate lets hosts resume a run that stays in a state from now on.
func (s State) activate(ctx context.Context, claim runstore.Claim, rec *runstore.Record) error {
	rec.Moving = ""
	rec.Generation++
	if err := s.wake(ctx, rec); err != nil {
		return err
	}
	return claim.Checkpoint(ctx, rec)
}

// wake has a run be due that is claimed here, once its claim is released. A store of several
// hosts has it due by that alone; one of a single machine sees it in the record.
func (s State) wake(ctx context.Context, rec *runstore.Record) error {
	scheduler, ok := s.Runs.(runstore.Scheduler)
	if _, shared := s.Runs.(runstore.Shared); !ok || !shared || !rec.GoesOnAlone() {
		return nil
	}
	return scheduler.Wake(ctx, rec.ID)
}

// arrive ends the moves that were interrupted after the run had gone from the source.
func (m *Mover) arrive(ctx context.Context, did func(Outcome) error) error {
	list, err := m.To.Runs.List(ctx)
	if err != nil {
		return err
	}
	for _, rec := range list {
		if !m.brought(rec.Moving) {
			continue
		}
		if err := m.arriveOne(ctx, rec.ID, did); err != nil {
			return err
		}
	}
	return nil
}

func (m *Mover) arriveOne(ctx context.Context, id string, did func(Outcome) error) error {
	claim, err := m.To.Runs.Claim(ctx, id)
	if errors.Is(err, runstore.ErrClaimed) || errors.Is(err, runstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer claim.Release()
	rec, err := m.To.Runs.Get(ctx, id)
	switch {
	case errors.Is(err, runstore.ErrUnavailable):
		return err
	case err != nil: // it has expired, or has a result
		return nil
	case !m.brought(rec.Moving): // another was faster
		return m.To.wake(ctx, rec)
	}
	switch _, err := m.From.Runs.Get(ctx, id); {
	case errors.Is(err, runstore.ErrUnavailable):
		return err
	case !errors.Is(err, runstore.ErrNotFound):
		return nil // the move of its record or its result continues with it
	}
	if rec.Moving == m.incomingResult() { // the result was delivered where it was
		return claim.Delete(ctx)
	}
	if err := m.copyApprovals(ctx, rec); err != nil {
		return err
	}
	if err := m.To.activate(ctx, claim, rec); err != nil {
		return err
	}
	if err := m.discardApprovals(ctx, rec); err != nil {
		return err
	}
	return did(Outcome{ID: id, Kind: string(runstore.ItemRun), What: Moved})
}

// copyApprovals brings the approvals of a run to where the destination has them, decided
// if they are.
func (m *Mover) copyApprovals(ctx context.Context, rec *runstore.Record) error {
	for _, id := range approvalsOf(rec) {
		if err := m.copyApproval(ctx, id); err != nil {
			return fmt.Errorf("approval %s: %w", id, err)
		}
	}
	return nil
}

func approvalsOf(rec *runstore.Record) (ids []string) {
	for _, c := range rec.Calls {
		for _, id := range []string{c.Approval, c.Held} {
			if id != "" {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// discardApprovals removes the approvals of a run that has gone from the source. Its hosts
// would cancel them, and a run that came back would find them cancelled.
func (m *Mover) discardApprovals(ctx context.Context, rec *runstore.Record) error {
	ids := approvalsOf(rec)
	store, ok := m.From.Approvals.(interface {
		Discard(context.Context, ...string) error
	})
	if !ok || len(ids) == 0 {
		return nil
	}
	return store.Discard(ctx, ids...)
}

func (m *Mover) copyApproval(ctx context.Context, id string) error {
	a, err := m.From.Approvals.Get(ctx, id)
	if errors.Is(err, policy.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err = m.To.Approvals.Get(ctx, id); errors.Is(err, policy.ErrNotFound) {
		asked := *a
		if asked.Store == m.From.Runs.Identity() {
			asked.Store = m.To.Runs.Identity() // its hosts look after the question now
		}
		asked.State, asked.Decision, asked.By, asked.Decided = policy.StatePending, "", "", time.Time{}
		asked.Answers, asked.EditedInput = nil, nil
		err = m.To.Approvals.Add(ctx, &asked)
	}
	if err != nil || a.State == policy.StatePending || a.State == policy.StateCancelled {
		return err // what was cancelled was, because its run had gone from there
	}
	_, err = m.To.Approvals.Resolve(ctx, id, policy.Resolution{
		State: a.State, Decision: a.Decision, By: a.By, At: a.Decided, Answers: a.Answers, Input: a.EditedInput,
	})
	return err
}

// moveResult carries the result of a run that has ended. A caller may get it twice if the
// move is interrupted, which changes nothing.
func (m *Mover) moveResult(ctx context.Context, id string) error {
	claim, err := m.From.Runs.Claim(ctx, id)
	if err != nil {
		return err
	}
	defer claim.Release()
	ended, err := m.From.Runs.Ended(ctx, id)
	if err != nil {
		return err
	}
	if err := m.putResult(ctx, ended); err != nil {
		return err
	}
	return claim.Delete(ctx)
}

// putResult puts a result into the destination.
func (m *Mover) putResult(ctx context.Context, ended *runstore.Ended) error {
	known, err := m.To.Runs.Ended(ctx, ended.ID)
	if err == nil && bytes.Equal(known.Result, ended.Result) { // of a move that was interrupted
		return nil
	}
	// A result takes the place of a record.
	place := &runstore.Record{
		ID: ended.ID, Format: runstore.FormatVersion, Generation: 1, Session: ended.Session,
		Created: time.Now(), Expires: ended.Expires,
	}
	there, err := m.stage(ctx, place, m.incomingResult())
	if err != nil {
		return err
	}
	defer there.Release()
	return there.End(ctx, ended)
}

// copy copies one item, marked.
func (m *Mover) copy(ctx context.Context, item runstore.Item) error {
	switch item.Kind {
	case runstore.ItemRun:
		rec, err := m.From.Runs.Get(ctx, item.ID)
		if err != nil {
			return err
		}
		if rec.Live {
			return leave("it goes on without an image now")
		}
		rec.Moving = markCopy
		if err := m.copyApprovals(ctx, rec); err != nil {
			return err
		}
		return m.create(ctx, rec)
	case runstore.ItemResult:
		ended, err := m.From.Runs.Ended(ctx, item.ID)
		if err != nil {
			return err
		}
		return m.putResult(ctx, ended)
	}
	return leave("journals of effects are not copied: a call must not be undone twice")
}

// create creates a record that the destination does not have.
func (m *Mover) create(ctx context.Context, rec *runstore.Record) error {
	claim, err := m.To.Runs.Create(ctx, rec, 0)
	if errors.Is(err, runstore.ErrClaimed) {
		return leave("it is there already")
	}
	if err == nil {
		claim.Release()
	}
	return err
}

// take imports one item of a copy.
func (m *Mover) take(ctx context.Context, item runstore.Item) error {
	switch item.Kind {
	case runstore.ItemRun:
		rec, err := m.From.Runs.Get(ctx, item.ID)
		if err != nil {
			return err
		}
		if rec.Moving != markCopy {
			return leave("it is no copy: quoin state move takes it")
		}
		return m.takeRun(ctx, rec)
	case runstore.ItemResult:
		return m.copy(ctx, item)
	}
	return leave("journals of effects are not copied: a call must not be undone twice")
}

// takeRun imports a run. It is marked until its approvals are there, so that hosts neither
// resume it nor take these for orphans, and an import that was interrupted can be repeated.
func (m *Mover) takeRun(ctx context.Context, rec *runstore.Record) error {
	there, err := m.stage(ctx, rec, m.incoming())
	var why leave
	if errors.Is(err, runstore.ErrClaimed) || errors.As(err, &why) {
		if known, err := m.To.Runs.Get(ctx, rec.ID); err == nil && known.Moving != "" {
			return leave("a move or an import of it from elsewhere was interrupted: repeat that one")
		}
		return leave("it is there already")
	}
	if err != nil {
		return err
	}
	defer there.Release()
	if err := m.copyApprovals(ctx, rec); err != nil {
		return err
	}
	return m.To.activate(ctx, there, rec)
}
