package calls

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host/internal/quota"
	"github.com/quoinhq/quoin/host/internal/runs/timing"
	"github.com/quoinhq/quoin/internal/wire"
)

// newTestTable is a table with two slots.
func newTestTable(t *testing.T) *Table {
	shares := quota.Shares{Session: 100, Agent: 100}
	meter := func(name string) *quota.Meter { return quota.NewMeter(name, name, name, 1<<30, shares) }
	return New("run_x", 2, &InFlight{}, &timing.Defaults, Account{
		Held: meter("held"), Suspended: meter("suspended"), Stored: meter("stored"), Denied: func(d *quota.Denied) { t.Error(d) },
	})
}

// request has the guest make a call.
func (t *Table) request(test *testing.T) *Entry {
	test.Helper()
	b, f := t.Admit([]wire.Request{{ID: t.lastID + 1, Method: wire.MethodCall, Target: "echo", Args: []byte(`{}`)}}, false)
	if f != nil {
		test.Fatal(f)
	}
	return b.Fresh[0]
}

// TestTheInputOfAClientCallIsChargedOnce: an input that an approval has charged, or the
// host before, is not charged again when the client is asked.
func TestTheInputOfAClientCallIsChargedOnce(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	c := table.request(t)
	input := []byte(`{"text":"a somewhat long input"}`)
	table.Questions.Asked(c, "approval", input, nil, time.Time{})
	if _, d := table.Questions.AskClient(c, input, time.Now()); d != nil {
		t.Fatal(d)
	}
	if c.charged != c.heldBytes() || table.account.bytes != c.heldBytes() {
		t.Errorf("charged %d, in all %d, for a call of %d bytes", c.charged, table.account.bytes, c.heldBytes())
	}
}

// TestACallThatTheImageWaitsForIsWrittenFirst, also where it gets the slot of one that the
// image does not know.
func TestACallThatTheImageWaitsForIsWrittenFirst(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	table.slots = 1
	unknown, waits := table.request(t), table.request(t)
	table.Start([]*Entry{unknown, waits})
	waits.imaged = true
	started, toStore := table.Settle(unknown, nil, json.RawMessage(`1`), nil)
	if len(started) != 1 || started[0] != waits || !toStore || len(table.inbox) != 0 {
		t.Errorf("started %d, to the store %v, %d answers before it", len(started), toStore, len(table.inbox))
	}
}
