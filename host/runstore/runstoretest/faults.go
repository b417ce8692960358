package runstoretest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/runstore"
)

// maxSteps bounds the steps of one operation.
const maxSteps = 50

// operation is one that may fail at any of its steps.
type operation struct {
	name    string
	setUp   func(t *testing.T, s runstore.Store, id string) runstore.Claim // nil: the run is not there
	do      func(s runstore.Store, c runstore.Claim, id string) error
	state   func(s runstore.Store, id string) string // what another host sees; nil: stateOf
	before  string
	between string // what there may be, too, after an error
	after   string
}

// claimed has a run, and the claim of it.
func claimed(t *testing.T, s runstore.Store, id string) runstore.Claim {
	t.Helper()
	return create(t, s, Record(id, 1))
}

func operations(s runstore.Store) []operation {
	ctx := context.Background()
	ignoreClaim := func(c runstore.Claim, err error) error {
		if err == nil {
			c.Release()
		}
		return err
	}
	all := []operation{
		{name: "Create", before: "nothing", after: fresh(1), do: func(s runstore.Store, _ runstore.Claim, id string) error {
			// Once it has failed, the run may be there: then a claim gets it.
			err := ignoreClaim(s.Claim(ctx, id))
			if errors.Is(err, runstore.ErrNotFound) {
				err = ignoreClaim(s.Create(ctx, Record(id, 1), 0))
			}
			return err
		}},
		{name: "Claim", setUp: claimed, before: fresh(1), after: fresh(1), do: func(s runstore.Store, c runstore.Claim, id string) error {
			c.Release()
			return ignoreClaim(s.Claim(ctx, id))
		}},
		{name: "Checkpoint", setUp: claimed, before: fresh(1), after: fresh(2), do: func(_ runstore.Store, c runstore.Claim, id string) error {
			return c.Checkpoint(ctx, Record(id, 2))
		}},
		{name: "PutCalls", setUp: claimed, before: fresh(1), after: answered(1, `1`), do: func(_ runstore.Store, c runstore.Claim, _ string) error {
			return c.PutCalls(ctx, 1, Settled(1, `1`))
		}},
		{name: "End", setUp: claimed, before: fresh(1), after: "the result 1", do: func(_ runstore.Store, c runstore.Claim, id string) error {
			return c.End(ctx, Ended(id, `1`))
		}},
		{name: "Delete", setUp: claimed, before: fresh(1), after: "nothing", do: func(_ runstore.Store, c runstore.Claim, _ string) error {
			return c.Delete(ctx)
		}},
	}
	if _, ok := s.(runstore.Scheduler); ok {
		all = append(all, wake)
	}
	if _, ok := s.(runstore.Identified); ok {
		all = append(all, reserve)
	}
	if _, ok := s.(runstore.EffectStore); ok {
		all = append(all, putEffect)
	}
	return all
}

var wake = operation{
	name: "Wake", before: "not due", after: "due",
	setUp: func(t *testing.T, s runstore.Store, id string) runstore.Claim {
		t.Helper()
		put(t, s, Record(id, 1))
		return nil
	},
	do: func(s runstore.Store, _ runstore.Claim, id string) error {
		return s.(runstore.Scheduler).Wake(context.Background(), id)
	},
	state: func(s runstore.Store, id string) string {
		due, err := s.(runstore.Scheduler).Due(context.Background(), 1000)
		switch {
		case err != nil:
			return err.Error()
		case slices.Contains(due, id):
			return "due"
		}
		return "not due"
	},
}

var reserve = operation{
	name: "Reserve", before: "free", between: "held", after: "free",
	do: func(s runstore.Store, _ runstore.Claim, id string) error {
		release, err := s.(runstore.Identified).Reserve(context.Background(), id)
		if err == nil {
			release()
		}
		return err
	},
	state: func(s runstore.Store, id string) string {
		release, err := s.(runstore.Identified).Reserve(context.Background(), id)
		switch {
		case errors.Is(err, runstore.ErrClaimed):
			return "held"
		case err != nil:
			return err.Error()
		}
		release()
		return "free"
	},
}

var putEffect = operation{
	name: "Effects", before: "no journal", between: "0 effects", after: "1 effects",
	do: func(s runstore.Store, _ runstore.Claim, id string) error {
		now := time.Now()
		j, err := s.(runstore.EffectStore).OpenEffects(context.Background(), id, &runstore.Effects{Created: now, Expires: now.Add(time.Hour)})
		if err != nil {
			return err
		}
		defer j.Close()
		return j.Put(true, effect(1, runstore.EffectDone))
	},
	state: func(s runstore.Store, id string) string {
		j, err := s.(runstore.EffectStore).Effects(context.Background(), id)
		switch {
		case errors.Is(err, runstore.ErrNotFound):
			return "no journal"
		case err != nil:
			return err.Error()
		}
		return fmt.Sprintf("%d effects", len(j.Effects))
	},
}

// testFaults has each operation fail at each of its steps. Without an error it has taken
// effect. With one it has taken effect wholly or not at all, and it can be made again. A step
// that the store itself makes again is no error.
func testFaults(t *testing.T, d Driver) {
	if d.Fail == nil {
		t.Skip("this store cannot fail")
	}
	hosts := d.Open(t, 2)
	for _, op := range operations(hosts[0]) {
		for _, when := range []Moment{Before, After, Cut} {
			t.Run(op.name+" fails "+strings.SplitN(string(when), " ", 2)[0], func(t *testing.T) {
				n := 1
				for n <= maxSteps && d.faulty(t, hosts, op, when, n) {
					n++
				}
				if n > maxSteps {
					t.Errorf("the operation has more than %d steps", maxSteps)
				}
			})
		}
	}
}

// faulty makes an operation fail at its nth step, and reports whether it has that many.
func (d Driver) faulty(t *testing.T, hosts []runstore.Store, op operation, when Moment, n int) bool {
	id := fmt.Sprintf("%s_%s_%d", op.name, when[:1], n)
	what := fmt.Sprintf("step %d fails %s", n, when)
	state := op.state
	if state == nil {
		state = stateOf
	}
	var c runstore.Claim
	if op.setUp != nil {
		c = op.setUp(t, hosts[0], id)
	}
	end := d.Fail(t, hosts[0], n, when)
	if end == nil {
		return false
	}
	err := op.do(hosts[0], c, id)
	reached := end()
	got := state(hosts[1], id)
	switch {
	case err == nil && got != op.after:
		t.Errorf("%s: no error, and there is %s, want %s", what, got, op.after)
	case err != nil && when == Cut:
		t.Errorf("%s: %v", what, err)
	case err != nil && !reached:
		t.Errorf("%s: %v, although no step has failed", what, err)
	case err != nil && got != op.before && got != op.after && got != op.between:
		t.Errorf("%s: there is %s, want %s or %s", what, got, op.before, op.after)
	}
	if err != nil {
		if err := op.do(hosts[0], c, id); err != nil {
			t.Errorf("%s: made again: %v", what, err)
		}
		if got := state(hosts[1], id); got != op.after {
			t.Errorf("%s: made again, and there is %s, want %s", what, got, op.after)
		}
	}
	if c != nil {
		c.Release()
	}
	// Whatever has failed, another host can continue with what there is.
	if stateOf(hosts[1], id) != "nothing" {
		if c, err := hosts[1].Claim(context.Background(), id); err != nil {
			t.Errorf("%s: another host: %v", what, err)
		} else {
			c.Release()
		}
	}
	return reached
}
