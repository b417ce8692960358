package host_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// TestCallsThatChangeNothing: who repairs a failed program learns whether a tool that it
// called can have changed anything.
func TestCallsThatChangeNothing(t *testing.T) {
	t.Parallel()
	add := catalog.Tool{Name: "add", Description: "Adds one.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return json.RawMessage("1"), nil
	}}
	refuses := catalog.Tool{Name: "refuse", Description: "Refuses.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return nil, &protocol.Error{Kind: protocol.KindTool, Code: "not_found", Message: "there is no 99", Effect: protocol.EffectNone}
	}}
	h := start(t, host.Config{Tools: []catalog.Tool{echo("read"), add, refuses}})
	for _, tc := range []struct {
		code                  string
		dispatched, unchanged bool
	}{
		{`null.x`, false, false},
		{`await tools.read({}); null.x`, true, true},
		{`await tools.refuse({})`, true, true},
		{`await tools.add({}); null.x`, true, false},
		{`await tools.read({}); await tools.refuse({}).catch(() => 0); await tools.add({}); null.x`, true, false},
	} {
		r := exec(h, tc.code)
		if r.Status != host.StatusFailed || r.Dispatched != tc.dispatched || r.Unchanged != tc.unchanged {
			t.Errorf("%s: dispatched %t, unchanged %t: %s", tc.code, r.Dispatched, r.Unchanged, show(r))
		}
	}
}
