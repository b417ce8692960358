package codemode_test

import (
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host/codemode"
)

// TestOwnership: a session owns its runs of every turn, and covers the runs of its turn.
func TestOwnership(t *testing.T) {
	s := func(agent, key, id, turn string) codemode.Session {
		return codemode.Session{AgentID: agent, SessionKey: key, SessionID: id, TurnID: turn}
	}
	me := s("a", "k", "s", "1")
	for _, tc := range []struct {
		caller       codemode.Session
		owns, covers bool
	}{
		{me, true, true},
		{s("a", "k", "s", ""), true, true},
		{s("a", "k", "s", "2"), true, false},
		{s("b", "k", "s", "1"), false, false},
		{s("a", "", "s", "1"), false, false},
		{s("a", "k", "", "1"), false, false},
		{codemode.Session{}, false, false},
	} {
		if got := tc.caller.Owns(me); got != tc.owns {
			t.Errorf("%+v owns: %v", tc.caller, got)
		}
		if got := tc.caller.Covers(me); got != tc.covers {
			t.Errorf("%+v covers: %v", tc.caller, got)
		}
		if same := tc.caller.Identity() == me.Identity(); same != tc.owns {
			t.Errorf("%+v has the identity %q", tc.caller, tc.caller.Identity())
		}
	}
	if (codemode.Session{TurnID: "1"}).Identity() != "" {
		t.Error("a turn alone is an identity")
	}
}

// TestSessionJSON pins the names that stored runs, trajectories and HTTP clients use.
func TestSessionJSON(t *testing.T) {
	b, err := json.Marshal(codemode.Session{AgentID: "a", SessionKey: "k", SessionID: "s", TurnID: "t"})
	if want := `{"agentId":"a","sessionKey":"k","sessionId":"s","runId":"t"}`; err != nil || string(b) != want {
		t.Errorf("got %s (%v), want %s", b, err, want)
	}
	if b, err := json.Marshal(codemode.Session{}); err != nil || string(b) != `{}` {
		t.Errorf("got %s (%v)", b, err)
	}
}
