package benchmodels

import (
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

// promptSizes are numbers of tools.
var promptSizes = []int{10, 45, 100, 527, 10_000}

// prompt is what the definitions of a number of tools cost in each request.
type prompt struct {
	tools               int
	direct, ours, relay int
	search              int  // what one search of a server with search and call returns
	auto                bool // whether auto shows exec and wait
}

// measurePrompts counts the tokens of definitions for each number of tools.
func measurePrompts(t testing.TB, on, auto *host.Host) []prompt {
	t.Helper()
	var all []prompt
	for _, n := range promptSizes {
		list := ownerless(many(t, n))
		c, err := catalog.New(list, catalog.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, prompt{
			tools:  n,
			direct: tokens(t, definitions(t, list)),
			ours:   tokens(t, definitions(t, request(t, on, list).Visible)),
			relay:  tokens(t, definitions(t, relayTools(t))),
			search: tokens(t, found(t, c, "create a calendar event", map[string]bool{})),
			auto:   request(t, auto, list).Active,
		})
	}
	return all
}

// TestNeverWorseThanDirect: where there are few tools, auto costs no more than calling
// them directly does, over all tasks.
func TestNeverWorseThanDirect(t *testing.T) {
	t.Parallel()
	direct, auto := fewTools(t, newHost(t, codemode.ActivationAuto))
	const most = 1.02
	if ratio := float64(auto) / float64(direct); ratio > most {
		t.Errorf("%d tokens by auto are %.3f times the %d of direct calls, want at most %.2f", auto, ratio, direct, most)
	}
}

// fewTools does the tasks of the airline that ten of its tools can do, and returns the
// tokens of direct calls and of what auto shows.
func fewTools(t testing.TB, h *host.Host) (direct, auto int) {
	t.Helper()
	const few = 10
	d := airline()
	needed := map[string]bool{"get_customer": true, "get_booking": true, "cancel_booking": true, "change_bags": true, "change_flight": true, "send_voucher": true}
	var operations []operation
	for _, o := range d.operations {
		name := newReplayer(t, h, domain{operations: []operation{o}}).only()
		if needed[name] || len(operations)+len(needed) < few {
			operations = append(operations, o)
		}
		delete(needed, name)
	}
	if len(operations) != few {
		t.Fatalf("there are %d tools", len(operations))
	}
	d.operations = operations
	r := newReplayer(t, h, d)
	for _, k := range d.tasks {
		cost := r.direct(k, d.db.clone()).total()
		direct += cost
		if request(t, h, tools(t, operations, d.db)).Active {
			cost = r.oneCell(k, d.db.clone(), (*program).answer).total()
		}
		auto += cost
	}
	return direct, auto
}

// only is the name of the only operation.
func (r *replayer) only() string {
	for name := range r.operations {
		return name
	}
	return ""
}

// ownerless are tools as a request brings them: they belong to the host.
func ownerless(list []catalog.Tool) []catalog.Tool {
	for i := range list {
		list[i].Owner = ""
	}
	return list
}
