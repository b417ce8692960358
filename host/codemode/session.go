package codemode

import "fmt"

// Session says who asks: an agent, one of its conversations, and the turn in it. A
// suspended run can be resumed only by an equal Session, and different sessions never
// share a worker.
type Session struct {
	AgentID    string `json:"agentId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	// TurnID names the agent's turn. Its JSON name says runId, but it is not the
	// RunID of a Result.
	TurnID string `json:"runId,omitempty"`
}

// Owns reports whether s and owner are the same session. The turn does not count: a
// later turn owns what an earlier one left.
func (s Session) Owns(owner Session) bool {
	s.TurnID, owner.TurnID = "", ""
	return s == owner
}

// Covers reports whether s owns what owner left in the same turn. A session without
// a TurnID covers every turn.
func (s Session) Covers(owner Session) bool {
	return s.Owns(owner) && (s.TurnID == "" || s.TurnID == owner.TurnID)
}

// Identity returns a string that all turns of a session share, and no other session
// has. It returns "" for a caller that names neither an agent nor a session.
func (s Session) Identity() string {
	if s.AgentID == "" && s.SessionKey == "" && s.SessionID == "" {
		return ""
	}
	return fmt.Sprintf("%q %q %q", s.AgentID, s.SessionKey, s.SessionID)
}
