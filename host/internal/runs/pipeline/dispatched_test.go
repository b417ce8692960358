package pipeline_test

import (
	"testing"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	. "github.com/quoinhq/quoin/host/internal/runs/runstest"
	"github.com/quoinhq/quoin/internal/wire"
)

// TestDispatched: the flag is about effects. A call that never reached a tool
// leaves it unset.
func TestDispatched(t *testing.T) {
	for name, tt := range map[string]struct {
		does func(*Guest)
		want bool
	}{
		"nothing":                    {func(*Guest) {}, false},
		"a tool that is not there":   {func(g *Guest) { g.Try("missing", nil) }, false},
		"an input that does not fit": {func(g *Guest) { g.Try("typed", map[string]string{}) }, false},
		"a search":                   {func(g *Guest) { g.Ask(wire.MethodSearch, "x", nil, nil).Told() }, false},
		"a call":                     {func(g *Guest) { g.Call("typed", N(1)) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			InBubble(t, func(t *testing.T) {
				r := Start(t, Setup{Tools: []catalog.Tool{Numbers("typed")}}).Run(func(g *Guest) any {
					tt.does(g)
					g.Throw("no")
					return nil
				})
				if r.Status != codemode.StatusFailed || r.Dispatched != tt.want {
					t.Errorf("got %s, want failed with dispatched %v", Show(r), tt.want)
				}
			})
		})
	}
}
