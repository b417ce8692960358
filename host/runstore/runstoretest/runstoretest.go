package runstoretest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/runstore"
)

// Moment says when a step of a store fails.
type Moment string

// A step is what a store asks of what it stands on: a statement, a sync of a file.
const (
	Before Moment = "before it takes effect"
	After  Moment = "after it took effect, so that the answer is lost"
	// Cut is for a store that makes a step again when its connection is lost.
	Cut Moment = "cut off after it took effect, so that it is made again"
)

// Driver is one kind of store.
type Driver struct {
	// Open returns that many hosts that share one new, empty store, which ends with the
	// test.
	Open func(t testing.TB, hosts int) []runstore.Store
	// Expire ends the lease of a host, which does not notice. It is nil for stores with claims
	// that end with their process alone.
	Expire func(t testing.TB, host runstore.Store)
	// Fail has the nth step of a host from now fail, n from 1. The function that it returns
	// ends that, and reports whether the step was reached; it is nil if no step of the store
	// fails so. Fail is nil for stores that cannot fail.
	Fail func(t testing.TB, host runstore.Store, n int, when Moment) (end func() bool)
}

// Run runs every test of a store.
func Run(t *testing.T, d Driver) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Driver)
	}{
		{"Records", testRecords},
		{"UnknownIDs", testUnknownIDs},
		{"Expiry", testExpiry},
		{"KeepUntil", testKeepUntil},
		{"SweepLeavesClaimedRuns", testSweepLeavesClaimedRuns},
		{"Maximum", testMaximum},
		{"Journal", testJournal},
		{"Results", testResults},
		{"ResultsAreBounded", testResultsAreBounded},
		{"Hammer", testHammer},
		{"ClaimsExclude", testClaimsExclude},
		{"Epochs", testEpochs},
		{"ReleasedClaims", testReleasedClaims},
		{"ClaimsOutliveRecords", testClaimsOutliveRecords},
		{"Takeover", testTakeover},
		{"Reservations", testReservations},
		{"Effects", testEffects},
		{"Inventory", testInventory},
		{"Model", testModel},
		{"Faults", testFaults},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, d) })
	}
}

// open returns one host.
func (d Driver) open(t testing.TB) runstore.Store { return d.Open(t, 1)[0] }

// Record returns a record with every kind of content. Its call 1 is in flight and its call 2
// is queued. It expires in an hour.
func Record(id string, generation uint64) *runstore.Record {
	return &runstore.Record{
		ID:         id,
		Format:     runstore.FormatVersion,
		Generation: generation,
		GuestBuild: "00ff",
		Session:    codemode.Session{AgentID: "a", SessionKey: "k", SessionID: "s", TurnID: "r"},
		Language:   "javascript",
		Created:    time.Now().UTC().Truncate(time.Millisecond),
		Expires:    time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond),
		Dispatched: true,
		Scopes:     map[string]json.RawMessage{"issues": json.RawMessage(`{"kind":"object","entries":{}}`)},
		Counters:   runstore.Counters{Call: 3, CPUMicros: 7},
		Image:      bytes.Repeat([]byte{0, 1, 2, 0xff}, 1000),
		Calls: []runstore.Call{
			{ID: 1, Method: "call", Target: "x", Args: json.RawMessage(`{"a":1}`), State: runstore.CallInFlight, IdempotencyKey: id + ":1"},
			{ID: 2, Method: "yield", State: runstore.CallQueued},
		},
	}
}

// Settled is a call that has an answer.
func Settled(id uint64, answer string) []runstore.Call {
	return []runstore.Call{{ID: id, State: runstore.CallSettled, OK: true, Answer: json.RawMessage(answer)}}
}

// Ended is a result that expires in an hour.
func Ended(id, result string) *runstore.Ended {
	return &runstore.Ended{ID: id, Session: codemode.Session{SessionID: "s"}, Expires: time.Now().Add(time.Hour).UTC(), Result: []byte(result)}
}

// anyEpoch compares records that the same claim need not have written.
var anyEpoch = cmpopts.IgnoreFields(runstore.Record{}, "Epoch")

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want fails the test unless an error is the one that is expected.
func want(t testing.TB, what string, err, expected error) {
	t.Helper()
	if !errors.Is(err, expected) {
		t.Errorf("%s: %v, want %v", what, err, expected)
	}
}

func create(t testing.TB, s runstore.Store, r *runstore.Record) runstore.Claim {
	t.Helper()
	c, err := s.Create(context.Background(), r, 0)
	must(t, err)
	t.Cleanup(c.Release)
	return c
}

func claim(t testing.TB, s runstore.Store, id string) runstore.Claim {
	t.Helper()
	c, err := s.Claim(context.Background(), id)
	must(t, err)
	t.Cleanup(c.Release)
	return c
}

// put stores a record and lets others have the run.
func put(t testing.TB, s runstore.Store, r *runstore.Record) {
	t.Helper()
	create(t, s, r).Release()
}

// stateOf says in words what a store has of a run, for comparisons.
func stateOf(s runstore.Store, id string) string {
	r, err := s.Get(context.Background(), id)
	switch {
	case errors.Is(err, runstore.ErrEnded):
		e, err := s.Ended(context.Background(), id)
		if err != nil {
			return "a result: " + err.Error()
		}
		return "the result " + string(e.Result)
	case errors.Is(err, runstore.ErrNotFound):
		return "nothing"
	case err != nil:
		return err.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "generation %d", r.Generation)
	for _, c := range r.Calls {
		fmt.Fprintf(&b, ", call %d %s %s", c.ID, c.State, c.Answer)
	}
	return b.String()
}

// is fails the test unless a store has a run in this state.
func is(t testing.TB, s runstore.Store, id, state string) {
	t.Helper()
	if got := stateOf(s, id); got != state {
		t.Errorf("the store has %s of run %s, want %s", got, id, state)
	}
}

// fresh is the state of a run that was stored as Record makes it.
func fresh(generation uint64) string {
	return fmt.Sprintf("generation %d, call 1 in_flight , call 2 queued ", generation)
}

// answered is the state after call 1 has got an answer.
func answered(generation uint64, answer string) string {
	return fmt.Sprintf("generation %d, call 1 settled %s, call 2 queued ", generation, answer)
}
