package runstoretest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/runstore"
)

// maxSteps bounds the steps of one operation.
const maxSteps = 50

// operation is one that may fail at any of its steps.
type operation struct {
	name          string
	stored        bool // the run is there, and the operation has its claim
	before, after string
	do            func(s runstore.Store, c runstore.Claim, id string) error
}

func operations() []operation {
	ctx := context.Background()
	ignoreClaim := func(c runstore.Claim, err error) error {
		if err == nil {
			c.Release()
		}
		return err
	}
	return []operation{
		{"Create", false, "nothing", fresh(1), func(s runstore.Store, _ runstore.Claim, id string) error {
			// Once it has failed, the run may be there: then a claim gets it.
			err := ignoreClaim(s.Claim(ctx, id))
			if errors.Is(err, runstore.ErrNotFound) {
				err = ignoreClaim(s.Create(ctx, Record(id, 1), 0))
			}
			return err
		}},
		{"Claim", true, fresh(1), fresh(1), func(s runstore.Store, c runstore.Claim, id string) error {
			c.Release()
			return ignoreClaim(s.Claim(ctx, id))
		}},
		{"Checkpoint", true, fresh(1), fresh(2), func(_ runstore.Store, c runstore.Claim, id string) error {
			return c.Checkpoint(ctx, Record(id, 2))
		}},
		{"PutCalls", true, fresh(1), answered(1, `1`), func(_ runstore.Store, c runstore.Claim, _ string) error {
			return c.PutCalls(ctx, 1, Settled(1, `1`))
		}},
		{"End", true, fresh(1), "the result 1", func(_ runstore.Store, c runstore.Claim, id string) error {
			return c.End(ctx, Ended(id, `1`))
		}},
		{"Delete", true, fresh(1), "nothing", func(_ runstore.Store, c runstore.Claim, _ string) error {
			return c.Delete(ctx)
		}},
	}
}

// testFaults has each operation fail at each of its steps. Without an error it has taken
// effect. With one it has taken effect wholly or not at all, and it can be made again.
func testFaults(t *testing.T, d Driver) {
	if d.Fail == nil {
		t.Skip("this store cannot fail")
	}
	hosts := d.Open(t, 2)
	for _, op := range operations() {
		for _, when := range []Moment{Before, After} {
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

// faulty makes an operation whose nth step fails, and reports whether it has that many.
func (d Driver) faulty(t *testing.T, hosts []runstore.Store, op operation, when Moment, n int) bool {
	id := fmt.Sprintf("%s_%s_%d", op.name, when[:1], n)
	what := fmt.Sprintf("step %d fails %s", n, when)
	var c runstore.Claim
	if op.stored {
		c = create(t, hosts[0], Record(id, 1))
	}
	end := d.Fail(t, hosts[0], n, when)
	err := op.do(hosts[0], c, id)
	reached := end()
	got := stateOf(hosts[1], id)
	switch {
	case err == nil && got != op.after:
		t.Errorf("%s: no error, and the store has %s, want %s", what, got, op.after)
	case err != nil && !reached:
		t.Errorf("%s: %v, although no step has failed", what, err)
	case err != nil && got != op.before && got != op.after:
		t.Errorf("%s: the store has %s, want %s or %s", what, got, op.before, op.after)
	}
	if err != nil {
		if err := op.do(hosts[0], c, id); err != nil {
			t.Errorf("%s: made again: %v", what, err)
		}
		is(t, hosts[1], id, op.after)
	}
	if c != nil {
		c.Release()
	}
	// Whatever has failed, another host can go on with what there is.
	if op.after != "nothing" {
		if c, err := hosts[1].Claim(context.Background(), id); err != nil {
			t.Errorf("%s: another host: %v", what, err)
		} else {
			c.Release()
		}
	}
	return reached
}
