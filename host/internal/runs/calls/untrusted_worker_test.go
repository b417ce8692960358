package calls

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/internal/wire"
)

// TestRequestsOfATakenOverWorker: a worker may send what no guest can. A burst with
// any such request is refused before any of it counts.
func TestRequestsOfATakenOverWorker(t *testing.T) {
	t.Parallel()
	good := wire.Request{ID: 6, Method: wire.MethodCall, Target: "echo", Args: []byte(`{}`)}
	for name, tc := range map[string]struct {
		request wire.Request
		want    string
	}{
		"a number of an earlier turn":  {wire.Request{ID: 5, Method: wire.MethodCall}, "repeated the bridge call 5"},
		"the number zero":              {wire.Request{ID: 0, Method: wire.MethodYield}, "repeated the bridge call 0"},
		"a number twice in a burst":    {wire.Request{ID: 6, Method: wire.MethodCall}, "repeated the bridge call 6"},
		"a smaller number in a burst":  {wire.Request{ID: 1, Method: wire.MethodSearch}, "repeated the bridge call 1"},
		"arguments that are not JSON":  {wire.Request{ID: 7, Method: wire.MethodCall, Args: []byte(`{"a":`)}, "arguments that are not JSON"},
		"an unknown method":            {wire.Request{ID: 7, Method: "spawn"}, `unknown method "spawn"`},
		"no method":                    {wire.Request{ID: 7}, `unknown method ""`},
		"a long unknown method":        {wire.Request{ID: 7, Method: wire.Method(strings.Repeat("x", 1000))}, `unknown method "` + strings.Repeat("x", 60)},
		"a cancellation of no list":    {wire.Request{ID: 7, Method: wire.MethodCancel, Args: []byte(`{"id":6}`)}, "no list of calls"},
		"a cancellation of nothing":    {wire.Request{ID: 7, Method: wire.MethodCancel}, "no list of calls"},
		"a cancellation of no numbers": {wire.Request{ID: 7, Method: wire.MethodCancel, Args: []byte(`["6"]`)}, "no list of calls"},
		"a cancellation below zero":    {wire.Request{ID: 7, Method: wire.MethodCancel, Args: []byte(`[-1]`)}, "no list of calls"},
	} {
		t.Run(name, func(t *testing.T) {
			table := newTestTable(t)
			table.lastID = 5
			b, f := table.Admit([]wire.Request{good, tc.request}, true)
			if f == nil || f.Code != codemode.CodeUnavailable || f.Reason != codemode.ReasonWorkerCrashed || f.Phase != codemode.PhaseHost || !strings.Contains(f.Message, tc.want) {
				t.Fatalf("got %+v, want %q", f, tc.want)
			}
			if len(f.Message) > 200 {
				t.Errorf("the worker made the message %d bytes long", len(f.Message))
			}
			if b.Fresh != nil || b.Started != nil || b.Queries != nil || b.Yielded || len(table.byID) != 0 || table.lastID != 5 || table.Costs.counters.Call != 0 {
				t.Errorf("some of the burst counted: %d calls, last number %d", len(table.byID), table.lastID)
			}
		})
	}
}
