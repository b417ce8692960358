package quota

import "github.com/quoinhq/quoin/host/codemode"

// OwnerOf returns the owner whom everything that a session takes is charged to.
func OwnerOf(s codemode.Session) Owner {
	return Owner{Agent: s.AgentID, Session: s.Identity()}
}

// SharesOf returns the shares that quotas grant to one session and one agent.
func SharesOf(q codemode.Quotas) Shares {
	return Shares{Session: int(q.SessionPercent), Agent: int(q.AgentPercent)}
}
