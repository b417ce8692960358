package policy

// Session is who a call belongs to: the identity of the caller's agent turn.
type Session struct {
	AgentID    string `json:"agentId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	TurnID     string `json:"runId,omitempty"` // of the agent turn, not of the cell
}

// Owns reports whether an approval of other may be seen by s: all but the agent
// turn must be equal.
func (s Session) Owns(other Session) bool {
	s.TurnID, other.TurnID = "", ""
	return s == other
}
