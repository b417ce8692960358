package statemove_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/quoinhq/quoin/host/internal/statemove"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/host/runstore"
)

// three opens three stores that have one key.
func three(t testing.TB) (stores [3]statemove.State) {
	t.Helper()
	first := t.TempDir()
	stores[0], _ = openAt(t, first)
	key, err := os.ReadFile(filepath.Join(first, "key"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 3; i++ {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "key"), key, 0o600); err != nil {
			t.Fatal(err)
		}
		stores[i], _ = openAt(t, path)
	}
	return stores
}

// records returns how many stores have the run, and in how many of them hosts resume it.
func records(t testing.TB, stores [3]statemove.State) (all, active int) {
	t.Helper()
	for _, s := range stores {
		rec, err := s.Runs.Get(t.Context(), runID)
		switch {
		case errors.Is(err, runstore.ErrNotFound):
		case err != nil:
			t.Fatal(err)
		default:
			all++
			if rec.Moving == "" {
				active++
			}
		}
	}
	return all, active
}

func moveWith(t testing.TB, f *faults, from, to statemove.State) {
	t.Helper()
	m := statemove.Mover{From: f.around(from), To: f.around(to)}
	if err := m.Move(t.Context(), func(statemove.Outcome) error { return nil }); err != nil && !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
}

// TestAnInterruptedMoveIsNotOvertaken: a run with an interrupted move goes nowhere else, so
// that the repeated move brings no second copy, though all stores have one key.
func TestAnInterruptedMoveIsNotOvertaken(t *testing.T) {
	for _, after := range []bool{false, true} {
		for at := 1; ; at++ {
			stores := three(t)
			a, b, c := stores[0], stores[1], stores[2]
			fill(t, a)
			f := &faults{left: at, after: after}
			moveWith(t, f, a, b)
			for _, next := range [][2]statemove.State{{a, c}, {a, b}, {a, c}} {
				moveWith(t, &faults{}, next[0], next[1])
				if all, active := records(t, stores); active > 1 || all == 0 {
					t.Fatalf("write %d, after %v: %d stores have the run, and %d go on with it", at, after, all, active)
				}
			}
			if all, active := records(t, stores); all != 1 || active != 1 {
				t.Errorf("write %d, after %v: %d stores have the run in the end, and %d go on with it", at, after, all, active)
			}
			if n := undoable(a) + undoable(b) + undoable(c); n != 1 {
				t.Errorf("write %d, after %v: the effect can be undone in %d stores", at, after, n)
			}
			if f.left > 0 {
				break
			}
		}
	}
}

// TestInterruptedMovesInAnyOrder: there is a copy of the run at all times, hosts resume one
// at most, and the moves that were interrupted end once each is repeated.
func TestInterruptedMovesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stores := three(t)
		fill(t, stores[0])
		move := func(i, j int, f *faults) {
			rt.Logf("%d to %d, write %d fails, after: %v", i, j, f.left, f.after)
			moveWith(t, f, stores[i], stores[j])
			if all, active := records(t, stores); active > 1 || all == 0 {
				rt.Fatalf("%d stores have the run, and %d go on with it", all, active)
			}
			for k, s := range stores {
				if !usable(s) {
					continue
				}
				a, err := s.Approvals.Get(t.Context(), approvalID)
				if err != nil || a.State != policy.StateAllowed || a.Store != s.Runs.Identity() {
					rt.Fatalf("the run is active in %d without its approval: %+v, %v", k, a, err)
				}
				if undoable(s) != 1 {
					rt.Fatalf("the run is active in %d without its effects", k)
				}
			}
		}
		for range rapid.IntRange(1, 6).Draw(rt, "moves") {
			i := rapid.IntRange(0, 2).Draw(rt, "from")
			j := (i + rapid.IntRange(1, 2).Draw(rt, "to")) % 3
			move(i, j, &faults{left: rapid.IntRange(0, 16).Draw(rt, "write"), after: rapid.Bool().Draw(rt, "after")})
		}
		for i := range 3 {
			for j := 1; j < 3; j++ {
				move(i, (i+j)%3, &faults{})
			}
		}
		all, active := records(t, stores)
		if n := undoable(stores[0]) + undoable(stores[1]) + undoable(stores[2]); all != 1 || active != 1 || n != 1 {
			rt.Fatalf("in the end %d stores have the run, %d go on with it, and %d can undo its effect", all, active, n)
		}
	})
}

// TestAPlaceWithoutItsResultIsNoRun: a result that was delivered after its move had been
// interrupted leaves nothing.
func TestAPlaceWithoutItsResultIsNoRun(t *testing.T) {
	from, _ := open(t)
	to, _ := open(t)
	fill(t, from)
	ctx := t.Context()
	place := must(to.Runs.Create(ctx, &runstore.Record{
		ID: "run_2", Format: runstore.FormatVersion, Generation: 1, Expires: must(from.Runs.Ended(ctx, "run_2"))(t).Expires,
		Moving: "result from " + from.Runs.Identity(),
	}, 0))(t)
	place.Release()
	claim := must(from.Runs.Claim(ctx, "run_2"))(t)
	if err := claim.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	claim.Release()
	moveWith(t, &faults{}, from, to)
	if rec, err := to.Runs.Get(ctx, "run_2"); !errors.Is(err, runstore.ErrNotFound) {
		t.Errorf("the destination has %+v, %v", rec, err)
	}
}

// TestInterruptedEffectsInAnyOrder: what a run that has ended has done can be undone in one
// state at most, whichever moves were interrupted, and in one once each is repeated.
func TestInterruptedEffectsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stores := three(t)
		want := fill(t, stores[0])
		claim := must(stores[0].Runs.Claim(t.Context(), runID))(t)
		if err := claim.Delete(t.Context()); err != nil {
			rt.Fatal(err)
		}
		claim.Release()
		move := func(i, j int, f *faults) (sum int) {
			rt.Logf("%d to %d, write %d fails, after: %v", i, j, f.left, f.after)
			moveWith(t, f, stores[i], stores[j])
			for _, s := range stores {
				sum += undoable(s)
			}
			if sum > 1 {
				rt.Fatalf("an effect of %s can be undone in %d states", want.ID, sum)
			}
			return sum
		}
		for range rapid.IntRange(1, 8).Draw(rt, "moves") {
			i := rapid.IntRange(0, 2).Draw(rt, "from")
			j := (i + rapid.IntRange(1, 2).Draw(rt, "to")) % 3
			move(i, j, &faults{left: rapid.IntRange(0, 5).Draw(rt, "write"), after: rapid.Bool().Draw(rt, "after")})
		}
		sum := 0
		for i := range 3 {
			for j := 1; j < 3; j++ {
				sum = move(i, (i+j)%3, &faults{})
			}
		}
		if sum != 1 {
			rt.Fatalf("in the end the effect can be undone in %d states", sum)
		}
	})
}
