package policy

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Grant is a remembered allow-always.
type Grant struct {
	// ID follows from what the grant is for: equal grants have equal ids.
	ID string `json:"id"`
	// AgentID and SessionKey, or SessionID where there is no key, are whose
	// calls it is for.
	AgentID    string `json:"agentId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	SessionID  string `json:"sessionId,omitempty"`
	// ToolID, Hook and Subject are which requests it answers.
	ToolID  string `json:"toolId"`
	Hook    string `json:"hook"`
	Subject string `json:"subject,omitempty"`
	// Severity is the highest it answers.
	Severity Severity `json:"severity"`
	// ApprovalID, By and Created tell where it comes from.
	ApprovalID string    `json:"approvalId"`
	By         string    `json:"by,omitempty"`
	Created    time.Time `json:"created"`
}

// grantScope is what grants of the session are filed under; empty if the session
// has no identity.
func (s Session) grantScope() string {
	switch {
	case s.SessionKey != "":
		return fmt.Sprintf("%q key %q", s.AgentID, s.SessionKey)
	case s.SessionID != "":
		return fmt.Sprintf("%q session %q", s.AgentID, s.SessionID)
	case s.AgentID != "":
		return fmt.Sprintf("%q agent", s.AgentID)
	}
	return ""
}

// grantID is where the grant for these requests is, or would be.
func grantID(s Session, toolID, hook, subject string) string {
	return "grt_" + digest(fmt.Appendf(nil, "%s %q %q %q", s.grantScope(), toolID, hook, subject))[:32]
}

// grants are what an allow-always about a leaves behind.
func (a *Approval) grants() []Grant {
	var out []Grant
	for _, k := range a.Asked {
		g := Grant{
			ID:      grantID(a.Session, a.ToolID, k.Hook, k.Subject),
			AgentID: a.Session.AgentID, SessionKey: a.Session.SessionKey,
			ToolID: a.ToolID, Hook: k.Hook, Subject: k.Subject, Severity: k.Severity,
			ApprovalID: a.ID, By: a.By, Created: a.Decided,
		}
		if g.SessionKey == "" {
			g.SessionID = a.Session.SessionID
		}
		out = append(out, g)
	}
	return out
}

// Unanswered returns the requests that no grant in the store answers. It fails
// when a grant cannot be read.
func Unanswered(ctx context.Context, store Approvals, c Call, asks []Ask) ([]Ask, error) {
	if c.Session.grantScope() == "" {
		return asks, nil
	}
	var out []Ask
	for _, a := range asks {
		answered, err := answered(ctx, store, c, a)
		if err != nil {
			return nil, err
		}
		if !answered {
			out = append(out, a)
		}
	}
	return out, nil
}

func answered(ctx context.Context, store Approvals, c Call, a Ask) (bool, error) {
	if !a.allows(AllowAlways) {
		return false, nil
	}
	g, err := store.Grant(ctx, grantID(c.Session, c.ToolID, a.Hook, a.Subject))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && g.Severity.rank() >= a.Severity.rank(), err
}

func (r ApprovalRequest) allows(d Decision) bool {
	for _, a := range r.Allowed {
		if a == d {
			return true
		}
	}
	return false
}
