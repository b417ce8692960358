package main

import (
	"testing"

	"github.com/quoinhq/quoin/sdk"
)

// TestSessionsThatDifferInOneField see nothing of each other's processes, also after the plugin was replaced.
func TestSessionsThatDifferInOneField(t *testing.T) {
	t.Parallel()
	h := start(t, gatewayFull())
	alice := sdk.RunContext{AgentID: "a", SessionKey: "k", SessionID: "s", RunID: "r"}
	for name, one := range map[string]sdk.RunContext{"all": alice, "none": {RunID: "r"}, "key": {SessionKey: "k", RunID: "r"}} {
		h.Run(one)
		var r processResult
		h.CallInto(&r, "exec", map[string]any{"command": "echo SECRET; cat", "background": true})
		for field, change := range map[string]func(*sdk.RunContext){
			"agent": func(c *sdk.RunContext) { c.AgentID += "2" }, "key": func(c *sdk.RunContext) { c.SessionKey += "2" }, "session": func(c *sdk.RunContext) { c.SessionID += "2" },
		} {
			other := one
			change(&other)
			h.Run(other)
			var list processAnswer
			h.CallInto(&list, "process", map[string]any{"action": "list"})
			if len(list.Processes) != 0 {
				t.Errorf("%s, another %s: %+v", name, field, list.Processes)
			}
			for _, action := range []map[string]any{{"action": "log"}, {"action": "poll"}, {"action": "status"}, {"action": "write", "data": "x"}, {"action": "kill"}, {"action": "remove"}, {"action": "clear"}} {
				if _, err := h.Call("process", with(action, "sessionId", r.SessionID)); code(err) != "unknown_session" {
					t.Errorf("%s, another %s, %v: %v", name, field, action, err)
				}
			}
		}
		one.RunID, one.TurnID = "later", "turn"
		h.Run(one)
		if a := do(t, h, "kill", r.SessionID); a.Status != "killed" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
