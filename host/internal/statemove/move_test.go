package statemove_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/internal/statemove"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
	"github.com/quoinhq/quoin/internal/durable"
)

const (
	runID      = "run_1"
	approvalID = "apr_0123456789abcdef0123456789abcdef"
)

// TestMain leaves out syncs: no test takes the power away.
func TestMain(m *testing.M) {
	durable.Sync = func(*os.File) error { return nil }
	os.Exit(m.Run())
}

func open(t testing.TB) (statemove.State, *runstore.Dir) {
	t.Helper()
	return openAt(t, t.TempDir())
}

func openAt(t testing.TB, path string) (statemove.State, *runstore.Dir) {
	t.Helper()
	d, err := runstore.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	approvals, err := policy.OpenApprovals(t.TempDir(), d)
	if err != nil {
		t.Fatal(err)
	}
	return statemove.State{Runs: d, Approvals: approvals}, d
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// fill stores a run that waits for a decided approval and has an effect, and a result.
func fill(t testing.TB, s statemove.State) *runstore.Record {
	t.Helper()
	ctx, now := t.Context(), time.Now()
	rec := &runstore.Record{
		ID: runID, Format: runstore.FormatVersion, Generation: 3, GuestBuild: "ab", Session: codemode.Session{SessionID: "s"},
		Created: now, Expires: now.Add(time.Hour), Image: []byte("image"),
		Calls: []runstore.Call{{ID: 1, Method: "call", State: runstore.CallApproval, Approval: approvalID, Args: json.RawMessage(`{}`)}},
	}
	must(s.Runs.Create(ctx, rec, 0))(t).Release()
	a := &policy.Approval{ID: approvalID, State: policy.StatePending, Severity: policy.SeverityWarning, Allowed: []policy.Decision{policy.AllowOnce, policy.Deny}, RunID: runID, Store: s.Runs.Identity(), Session: rec.Session, Created: now, Expires: now.Add(time.Hour)}
	if err := s.Approvals.Add(ctx, a); err != nil {
		t.Fatal(err)
	}
	must(s.Approvals.Resolve(ctx, approvalID, policy.Resolution{State: policy.StateAllowed, Decision: policy.AllowOnce, By: "alice", At: now}))(t)
	journal := must(s.Runs.(runstore.EffectStore).OpenEffects(ctx, runID, &runstore.Effects{RunID: runID, Session: rec.Session, Created: now, Expires: now.Add(time.Hour)}))(t)
	if err := journal.Put(true, runstore.Effect{Number: 1, CallID: "c", State: runstore.EffectDone, Inverse: "i", Input: json.RawMessage(`1`), At: now}); err != nil {
		t.Fatal(err)
	}
	journal.Close()
	claim := must(s.Runs.Create(ctx, &runstore.Record{ID: "run_2", Format: runstore.FormatVersion, Generation: 1, Session: rec.Session, Created: now, Expires: now.Add(time.Hour)}, 0))(t)
	if err := claim.End(ctx, &runstore.Ended{ID: "run_2", Session: rec.Session, Expires: now.Add(time.Hour), Result: []byte(`{"status":"completed"}`)}); err != nil {
		t.Fatal(err)
	}
	claim.Release()
	return rec
}

// usable reports whether a host would resume the run.
func usable(s statemove.State) bool {
	rec, err := s.Runs.Get(context.Background(), runID)
	return err == nil && rec.Moving == ""
}

// undoable is how many effects of the run can be undone from a state.
func undoable(s statemove.State) (n int) {
	j, err := s.Runs.(runstore.EffectStore).Effects(context.Background(), runID)
	if err != nil {
		return 0
	}
	for _, e := range j.Effects {
		if e.State == runstore.EffectDone {
			n++
		}
	}
	return n
}

func checkArrived(t *testing.T, from, to statemove.State, want *runstore.Record) {
	t.Helper()
	got, err := to.Runs.Get(t.Context(), runID)
	if err != nil || got.Moving != "" || string(got.Image) != "image" || len(got.Calls) != 1 || got.Generation <= want.Generation {
		t.Fatalf("arrived: %+v, %v", got, err)
	}
	if _, err := from.Runs.Get(t.Context(), runID); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("the source has it: %v", err)
	}
	a, err := to.Approvals.Get(t.Context(), approvalID)
	if err != nil || a.State != policy.StateAllowed || a.By != "alice" || a.Store != to.Runs.Identity() {
		t.Errorf("approval %+v, %v", a, err)
	}
	if e, err := to.Runs.Ended(t.Context(), "run_2"); err != nil || string(e.Result) != `{"status":"completed"}` {
		t.Errorf("result %v, %v", e, err)
	}
	if undoable(from) != 0 || undoable(to) != 1 {
		t.Errorf("%d and %d effects can be undone", undoable(from), undoable(to))
	}
}

func TestMove(t *testing.T) {
	from, _ := open(t)
	to, _ := open(t)
	rec := fill(t, from)
	var did []string
	m := statemove.Mover{From: from, To: to}
	for range 2 { // the second finds nothing to do
		if err := m.Move(t.Context(), func(o statemove.Outcome) error {
			did = append(did, fmt.Sprint(o.ID, " ", o.Kind, " ", o.What, o.Reason))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if want := "[run_1 run moved run_2 result moved run_1 effects gone]"; fmt.Sprint(did) != want {
		t.Errorf("did %v, want %s", did, want)
	}
	checkArrived(t, from, to, rec)
}

// TestARunComesBack: its approval is there, although the hosts of the first state would
// have cancelled it.
func TestARunComesBack(t *testing.T) {
	one, _ := open(t)
	two, _ := open(t)
	rec := fill(t, one)
	ignore := func(statemove.Outcome) error { return nil }
	if err := (&statemove.Mover{From: one, To: two}).Move(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	if a, err := one.Approvals.Get(t.Context(), approvalID); !errors.Is(err, policy.ErrNotFound) {
		t.Errorf("the source has %+v, %v", a, err)
	}
	if err := (&statemove.Mover{From: two, To: one}).Move(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	checkArrived(t, two, one, rec)
}

// TestAClaimedRunIsLeft, and one that both have.
func TestAClaimedRunIsLeft(t *testing.T) {
	from, _ := open(t)
	to, _ := open(t)
	fill(t, from)
	claim := must(from.Runs.Claim(t.Context(), runID))(t)
	left := func() (reason string) {
		m := statemove.Mover{From: from, To: to}
		if err := m.Move(t.Context(), func(o statemove.Outcome) error {
			if o.ID == runID && o.Kind == string(runstore.ItemRun) && o.What == statemove.Left {
				reason = o.Reason
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return reason
	}
	if got := left(); got != "a host has it: move it again later" {
		t.Errorf("claimed: %q", got)
	}
	claim.Release()
	rec := must(from.Runs.Get(t.Context(), runID))(t)
	must(to.Runs.Create(t.Context(), rec, 0))(t).Release()
	if got := left(); got != "the destination has this run: one of them is a copy" {
		t.Errorf("there already: %q", got)
	}
	if !usable(from) || !usable(to) {
		t.Errorf("usable: %v, %v", usable(from), usable(to))
	}
}

func TestBothAreTheSame(t *testing.T) {
	from, d := open(t)
	m := statemove.Mover{From: from, To: statemove.State{Runs: d, Approvals: from.Approvals}}
	if err := m.Move(t.Context(), func(statemove.Outcome) error { return nil }); err == nil {
		t.Error("a state was moved to itself")
	}
}

// TestInterruptedMoves: whichever write a move is interrupted at, before it or after it, no
// host can resume two copies of the run, the next move brings it there whole, and its
// effects can be undone in one place.
func TestInterruptedMoves(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			from, _ := open(t)
			to, _ := open(t)
			rec := fill(t, from)
			faults := &faults{left: at, after: after}
			m := statemove.Mover{From: faults.around(from), To: faults.around(to)}
			err := m.Move(t.Context(), func(statemove.Outcome) error { return nil })
			if usable(from) && usable(to) {
				t.Fatalf("write %d, after %v: both stores can go on with the run", at, after)
			}
			if undoable(from)+undoable(to) > 1 {
				t.Fatalf("write %d, after %v: the effect can be undone twice", at, after)
			}
			if err != nil && !errors.Is(err, errInjected) {
				t.Fatal(err)
			}
			m = statemove.Mover{From: from, To: to}
			if err := m.Move(t.Context(), func(o statemove.Outcome) error {
				if o.What == statemove.Left {
					t.Errorf("write %d, after %v: %+v", at, after, o)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			checkArrived(t, from, to, rec)
			if faults.left > 0 {
				if at < 6 {
					t.Errorf("only %d writes", at)
				}
				break
			}
		}
	}
}

// TestCopies: hosts do not resume a copy, and an import takes what is not there.
func TestCopies(t *testing.T) {
	from, _ := open(t)
	exported, _ := open(t)
	to, _ := open(t)
	fill(t, from)
	ignore := func(statemove.Outcome) error { return nil }
	if err := (&statemove.Mover{From: from, To: exported}).Copy(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	if !usable(from) || usable(exported) {
		t.Errorf("usable: %v, %v", usable(from), usable(exported))
	}
	if err := (&statemove.Mover{From: exported, To: to}).Import(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	if a, err := to.Approvals.Get(t.Context(), approvalID); !usable(to) || err != nil || a.State != policy.StateAllowed {
		t.Errorf("imported: %v, %+v, %v", usable(to), a, err)
	}
	if _, err := to.Runs.Ended(t.Context(), "run_2"); err != nil {
		t.Error(err)
	}
}

var errInjected = errors.New("injected")

// faults let one write of a move fail.
type faults struct {
	left  int  // writes until then
	after bool // the write is made all the same
}

// do makes a write, unless it is the one that fails.
func (f *faults) do(write func() error) error {
	f.left--
	if f.left != 0 {
		return write()
	}
	if f.after {
		return errors.Join(errInjected, write())
	}
	return errInjected
}

func (f *faults) around(s statemove.State) statemove.State {
	return statemove.State{
		Runs: &faultyRuns{s.Runs.(*runstore.Dir), f}, Approvals: &faultyApprovals{s.Approvals, f},
		Documents: f.documents(s.Documents), Storages: f.storages(s.Storages),
	}
}

type faultyRuns struct {
	*runstore.Dir
	f *faults
}

func (r *faultyRuns) Create(ctx context.Context, rec *runstore.Record, max int) (c runstore.Claim, err error) {
	err = r.f.do(func() (err error) { c, err = r.Dir.Create(ctx, rec, max); return err })
	if err != nil {
		if c != nil {
			c.Release() // its process has ended
		}
		return nil, err
	}
	return &faultyClaim{c, r.f}, nil
}

func (r *faultyRuns) Claim(ctx context.Context, id string) (runstore.Claim, error) {
	c, err := r.Dir.Claim(ctx, id)
	if err != nil {
		return nil, err
	}
	return &faultyClaim{c, r.f}, nil
}

func (r *faultyRuns) OpenEffects(ctx context.Context, id string, header *runstore.Effects) (runstore.EffectJournal, error) {
	j, err := r.Dir.OpenEffects(ctx, id, header)
	if err != nil {
		return nil, err
	}
	return &faultyJournal{j, r.f}, nil
}

type faultyClaim struct {
	runstore.Claim
	f *faults
}

func (c *faultyClaim) Checkpoint(ctx context.Context, r *runstore.Record) error {
	return c.f.do(func() error { return c.Claim.Checkpoint(ctx, r) })
}

func (c *faultyClaim) Delete(ctx context.Context) error {
	return c.f.do(func() error { return c.Claim.Delete(ctx) })
}

func (c *faultyClaim) End(ctx context.Context, e *runstore.Ended) error {
	return c.f.do(func() error { return c.Claim.End(ctx, e) })
}

type faultyJournal struct {
	runstore.EffectJournal
	f *faults
}

func (j *faultyJournal) Put(sync bool, effects ...runstore.Effect) error {
	return j.f.do(func() error { return j.EffectJournal.Put(sync, effects...) })
}

type faultyApprovals struct {
	policy.Approvals
	f *faults
}

func (a *faultyApprovals) Add(ctx context.Context, q *policy.Approval) error {
	return a.f.do(func() error { return a.Approvals.Add(ctx, q) })
}

func (a *faultyApprovals) Resolve(ctx context.Context, id string, r policy.Resolution) (out *policy.Approval, err error) {
	err = a.f.do(func() (err error) { out, err = a.Approvals.Resolve(ctx, id, r); return err })
	return out, err
}
