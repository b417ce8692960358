package statemove_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/internal/statemove"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// hosts makes a store one of several hosts. A run of theirs that waits for a person is due
// once it was woken, until its next claim.
type hosts struct{}

func (hosts) Host() string                            { return "mover" }
func (hosts) Advertise(context.Context, string) error { return nil }

func (hosts) Owner(context.Context, string) (runstore.Owner, error) {
	return runstore.Owner{}, runstore.ErrNotFound
}

func (hosts) Peers(context.Context, int) ([]runstore.Peer, error) { return nil, nil }

type sharedRuns struct {
	*runstore.Dir
	hosts
}

func shared(s statemove.State) statemove.State {
	s.Runs = sharedRuns{Dir: s.Runs.(*runstore.Dir)}
	return s
}

type faultySharedRuns struct {
	*faultyRuns
	hosts
}

// aroundShared is around for a store of several hosts.
func (f *faults) aroundShared(s statemove.State) statemove.State {
	s = f.around(s)
	s.Runs = faultySharedRuns{faultyRuns: s.Runs.(*faultyRuns)}
	return s
}

func isDue(t *testing.T, s statemove.State) bool {
	t.Helper()
	return slices.Contains(must(s.Runs.(runstore.Scheduler).Due(t.Context(), 10))(t), runID)
}

func ignore(statemove.Outcome) error { return nil }

// TestAMovedRunIsDue: hosts resume it without a caller, wherever its move was interrupted.
func TestAMovedRunIsDue(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			from, _ := open(t)
			to, _ := open(t)
			fill(t, from)
			f := &faults{left: at, after: after}
			m := statemove.Mover{From: f.aroundShared(from), To: f.aroundShared(to)}
			if err := m.Move(t.Context(), ignore); err != nil && !errors.Is(err, errInjected) {
				t.Fatal(err)
			}
			from, to = shared(from), shared(to)
			if usable(from) && !isDue(t, from) {
				t.Errorf("write %d, after %v: the run has stayed, and is not due", at, after)
			}
			if err := (&statemove.Mover{From: from, To: to}).Move(t.Context(), ignore); err != nil {
				t.Fatal(err)
			}
			if !usable(to) || !isDue(t, to) {
				t.Errorf("write %d, after %v: usable %v, due %v", at, after, usable(to), isDue(t, to))
			}
			if f.left > 0 {
				break
			}
		}
	}
}

// TestAnImportedRunIsDue also where the import is repeated.
func TestAnImportedRunIsDue(t *testing.T) {
	from, _ := open(t)
	exported, _ := open(t)
	to, _ := open(t)
	fill(t, from)
	to = shared(to)
	if err := (&statemove.Mover{From: from, To: exported}).Copy(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := (&statemove.Mover{From: exported, To: to}).Import(t.Context(), ignore); err != nil {
			t.Fatal(err)
		}
		if !usable(to) || !isDue(t, to) {
			t.Errorf("usable %v, due %v", usable(to), isDue(t, to))
		}
	}
}

// TestARunThatIsLeftStaysDue in both states, whatever keeps it from the move.
func TestARunThatIsLeftStaysDue(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, from, to statemove.State, rec *runstore.Record){
		"both have it": func(t *testing.T, _, to statemove.State, rec *runstore.Record) {
			must(to.Runs.Create(t.Context(), rec, 0))(t).Release()
		},
		"its host has died": func(t *testing.T, from, _ statemove.State, rec *runstore.Record) {
			claim := must(from.Runs.Claim(t.Context(), runID))(t)
			defer claim.Release()
			rec.Live, rec.Image = true, nil
			if err := claim.Checkpoint(t.Context(), rec); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, _ := open(t)
			to, _ := open(t)
			rec := fill(t, from)
			from, to = shared(from), shared(to)
			change(t, from, to, rec)
			if err := (&statemove.Mover{From: from, To: to}).Move(t.Context(), ignore); err != nil {
				t.Fatal(err)
			}
			if !usable(from) || !isDue(t, from) || usable(to) && !isDue(t, to) {
				t.Errorf("usable %v and %v, due %v and %v", usable(from), usable(to), isDue(t, from), isDue(t, to))
			}
		})
	}
}

// TestInterruptedImports: whichever write an import is interrupted at, hosts find no question
// without its run, which they would cancel, and the next import brings the run whole.
func TestInterruptedImports(t *testing.T) {
	from, _ := open(t)
	exported, _ := open(t)
	fill(t, from)
	if err := (&statemove.Mover{From: from, To: exported}).Copy(t.Context(), ignore); err != nil {
		t.Fatal(err)
	}
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			to, _ := open(t)
			f := &faults{left: at, after: after}
			if err := (&statemove.Mover{From: f.around(exported), To: f.around(to)}).Import(t.Context(), ignore); err != nil && !errors.Is(err, errInjected) {
				t.Fatal(err)
			}
			a, err := to.Approvals.Get(t.Context(), approvalID)
			if _, missing := to.Runs.Get(t.Context(), runID); err == nil && a.State == policy.StatePending && errors.Is(missing, runstore.ErrNotFound) {
				t.Errorf("write %d, after %v: a question is there without its run", at, after)
			}
			if err := (&statemove.Mover{From: exported, To: to}).Import(t.Context(), ignore); err != nil {
				t.Fatal(err)
			}
			if a, err := to.Approvals.Get(t.Context(), approvalID); !usable(to) || err != nil || a.State != policy.StateAllowed {
				t.Errorf("write %d, after %v: usable %v, %+v, %v", at, after, usable(to), a, err)
			}
			if f.left > 0 {
				break
			}
		}
	}
}

// TestAnImportAfterAnother: an import from one export was interrupted, and cannot be finished
// from another. What is left says so.
func TestAnImportAfterAnother(t *testing.T) {
	from, _ := open(t)
	first, _ := open(t)
	second, _ := open(t)
	fill(t, from)
	for _, exported := range []statemove.State{first, second} {
		if err := (&statemove.Mover{From: from, To: exported}).Copy(t.Context(), ignore); err != nil {
			t.Fatal(err)
		}
	}
	to, _ := open(t)
	isMarked := func() bool {
		rec, err := to.Runs.Get(t.Context(), runID)
		return err == nil && rec.Moving != ""
	}
	for at := 1; !isMarked(); at++ {
		to, _ = open(t)
		f := &faults{left: at, after: true}
		if err := (&statemove.Mover{From: f.around(first), To: f.around(to)}).Import(t.Context(), ignore); !errors.Is(err, errInjected) {
			t.Fatalf("write %d: %v, and the run was never marked", at, err)
		}
	}
	var why string
	if err := (&statemove.Mover{From: second, To: to}).Import(t.Context(), func(o statemove.Outcome) error {
		if o.ID == runID {
			why = o.Reason
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(why, "was interrupted: repeat that one") {
		t.Errorf("the run was left because %q", why)
	}
}
