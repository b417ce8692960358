package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

// Grant is a remembered allow-always.
type Grant struct {
	// ID follows from what the grant is for: equal grants have equal ids.
	ID string `json:"id"`
	// AgentID and SessionKey, or SessionID where there is no key, name its caller.
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
	// Expires is when it ends to answer.
	Expires time.Time `json:"expires"`
}

// expired reports whether the grant answers no more.
func (g *Grant) expired(now time.Time) bool {
	end := g.Expires
	if end.IsZero() { // of a store that is older than the field
		end = g.Created.Add(DefaultRemember)
	}
	return !now.Before(end)
}

// LiveGrants returns the grants in the store that still answer, oldest first.
func LiveGrants(ctx context.Context, store Approvals, now time.Time) ([]*Grant, error) {
	all, err := store.Grants(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(g *Grant) bool { return g.expired(now) }), nil
}

// grantScope is what grants of the session are filed under; empty if the session
// has no identity.
func grantScope(s codemode.Session) string {
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
func grantID(s codemode.Session, toolID, hook, subject string) string {
	return "grt_" + digest(fmt.Appendf(nil, "%s %q %q %q", grantScope(s), toolID, hook, subject))[:32]
}

// grants are what an allow-always about a leaves behind.
func (a *Approval) grants() []Grant {
	var out []Grant
	for _, k := range a.Asked {
		g := Grant{
			ID:      grantID(a.Session, a.ToolID, k.Hook, k.Subject),
			AgentID: a.Session.AgentID, SessionKey: a.Session.SessionKey,
			ToolID: a.ToolID, Hook: k.Hook, Subject: k.Subject, Severity: k.Severity,
			ApprovalID: a.ID, By: a.By, Created: a.Decided, Expires: a.Decided.Add(k.remember()),
		}
		if g.SessionKey == "" {
			g.SessionID = a.Session.SessionID
		}
		out = append(out, g)
	}
	return out
}

// remember returns how long an allow-always of this hook holds.
func (k Asked) remember() time.Duration {
	return cmp.Or(time.Duration(k.RememberSeconds)*time.Second, DefaultRemember)
}

// scope says in words what an allow-always about a covers.
func (a *Approval) scope() string {
	if !slices.Contains(a.Allowed, AllowAlways) {
		return ""
	}
	subjects, every := []string{}, false
	var remember time.Duration
	for _, k := range a.Asked { // each is granted by itself, and the widest is what people must see
		remember = max(remember, k.remember())
		every = every || k.Subject == ""
		spoken := digestBefore.ReplaceAllString(k.Subject, "")
		if k.Subject != "" && !slices.Contains(subjects, spoken) {
			subjects = append(subjects, spoken)
		}
	}
	what := "every call of " + a.ToolID + ", whatever its input,"
	if !every {
		what = "calls of " + a.ToolID + " with " + strings.Join(subjects, " or ")
	}
	return fmt.Sprintf("%s in the session %s for %s", what, grantName(a.Session), spelled(remember))
}

// digestBefore is what tells subjects apart and says nothing to people, before words that do.
var digestBefore = regexp.MustCompile(`^[a-z]+:[0-9a-f]{64} `)

// grantName names for people what grants of the session are filed under.
func grantName(s codemode.Session) string {
	own := cmp.Or(s.SessionKey, s.SessionID, "(any)")
	if s.AgentID != "" {
		own += " of the agent " + s.AgentID
	}
	return own
}

// spelled is a time in days where it is that long.
func spelled(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day && d%day == 0 {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.String()
}

// Unanswered returns the requests that no grant in the store answers at a time, and what
// answers the others. It fails when a grant cannot be read.
//
// A session without any identity has no grants, so all its requests remain.
func Unanswered(ctx context.Context, store Approvals, c Call, asks []Ask, now time.Time) (left []Ask, answers []catalog.Approval, err error) {
	if grantScope(c.Session) == "" {
		return asks, nil, nil
	}
	for _, a := range asks {
		g, err := answer(ctx, store, c, a, now)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case g == nil:
			left = append(left, a)
		case !a.Rewritten:
			answers = append(answers, catalog.Approval{Hook: a.Hook, Subject: a.Subject, ID: g.ApprovalID, Remembered: true})
		}
	}
	return left, answers, nil
}

// answer returns the grant that allows a request, or nil. A grant that was given at a
// lower severity does not.
func answer(ctx context.Context, store Approvals, c Call, a Ask, now time.Time) (*Grant, error) {
	if !a.allows(AllowAlways) {
		return nil, nil
	}
	g, err := store.Grant(ctx, grantID(c.Session, c.ToolID, a.Hook, a.Subject))
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	case g.expired(now), g.Severity.rank() < a.Severity.rank():
		return nil, nil
	}
	return g, nil
}

// allows reports whether a decision is among those to choose from.
func (r ApprovalRequest) allows(d Decision) bool {
	for _, a := range r.Allowed {
		if a == d {
			return true
		}
	}
	return false
}
