package host

import (
	"fmt"

	"github.com/quoinhq/quoin/host/runstore"
)

// Session is who is asking. A suspended run can be resumed only by an equal
// Session; workers are never shared between different ones.
type Session struct {
	AgentID    string `json:"agentId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	TurnID     string `json:"runId,omitempty"` // of the agent turn
}

// affinity is the name under which workers are kept for this session. The agent
// turn does not count: the turns of a session may share a worker. Callers without
// an identity share none.
func (s Session) affinity() string {
	if s.AgentID == "" && s.SessionKey == "" && s.SessionID == "" {
		return ""
	}
	return fmt.Sprintf("%q %q %q", s.AgentID, s.SessionKey, s.SessionID)
}

func (s Session) stored() runstore.Session {
	return runstore.Session{AgentID: s.AgentID, SessionKey: s.SessionKey, SessionID: s.SessionID, TurnID: s.TurnID}
}

func sessionOf(s runstore.Session) Session {
	return Session{AgentID: s.AgentID, SessionKey: s.SessionKey, SessionID: s.SessionID, TurnID: s.TurnID}
}

// covers reports whether a run of owner belongs to s, of any turn if s names none.
func (s Session) covers(owner runstore.Session) bool {
	if s.TurnID == "" {
		owner.TurnID = ""
	}
	return s.stored() == owner
}

// mayResume says whether caller owns a run that belongs to owner.
func mayResume(owner, caller runstore.Session) *failure {
	turn := owner.TurnID == caller.TurnID
	owner.TurnID, caller.TurnID = "", ""
	if owner != caller {
		return failf(CodeInvalidInput, ReasonWrongSession, PhaseInput, "code mode run belongs to a different session.")
	}
	if !turn {
		return failf(CodeInvalidInput, ReasonWrongRun, PhaseInput, "code mode run belongs to a different agent run.")
	}
	return nil
}
