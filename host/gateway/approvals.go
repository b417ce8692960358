package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/quoinhq/quoin/host/policy"
)

// ApprovalList is the answer to GET /v1/approvals.
type ApprovalList struct {
	Approvals []*policy.Approval `json:"approvals"`
}

// approvals lists the calls that wait for a person: those of the session if one is
// named, else everybody's.
func (s *Server) approvals(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	f := filterOf(session)
	f.RunID = r.URL.Query().Get("run")
	switch state := r.URL.Query().Get("state"); state {
	case "", "pending":
	case "all":
		f.Resolved = true
	default:
		return invalid("state", "it is "+shown(state), "pending or all")
	}
	list, err := s.host.Approvals(r.Context(), f)
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "the store of approvals cannot be read: %v", err)
	}
	return s.ok(w, ApprovalList{some(list)})
}

// filterOf chooses the approvals that a caller may see.
func filterOf(s Session) policy.Filter {
	if s == (Session{}) {
		return policy.Filter{}
	}
	return policy.Filter{Session: &policy.Session{AgentID: s.AgentID, SessionKey: s.SessionKey, SessionID: s.SessionID, TurnID: s.TurnID}}
}

// decide enters a decision. Its client may go away: the decision counts.
func (s *Server) decide(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	f, p := s.body(w, r)
	if p != nil {
		return p
	}
	id := f.required("id", "the id of an approval")
	decision := f.required("decision", "allow-once, allow-always or deny")
	claim := f.text("by")
	if p := f.problem(); p != nil {
		return p
	}
	ctx := context.WithoutCancel(r.Context())
	if p := s.mayDecide(ctx, session, id); p != nil {
		return p
	}
	a, err := s.host.Decide(ctx, id, policy.Decision(decision), s.decider(claim))
	switch {
	case err == nil:
		return s.ok(w, a)
	case errors.Is(err, policy.ErrNotFound):
		return noApproval(id)
	case errors.Is(err, policy.ErrNotAllowed):
		return problem(http.StatusBadRequest, ProblemInvalidRequest, "%v", err)
	case errors.Is(err, policy.ErrDecided), errors.Is(err, policy.ErrExpired), errors.Is(err, policy.ErrCancelled):
		return problem(http.StatusConflict, ProblemConflict, "%v", err)
	}
	return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
}

// decider says for the record who decides: how the caller has proven itself, and
// what else it says, which nothing proves.
func (s *Server) decider(claim string) string {
	proven := "server: token"
	if s.Token == "" {
		proven = "server: no token"
	}
	if claim == "" {
		return proven
	}
	return fmt.Sprintf("%s (unverified: %q)", proven, claim)
}

// mayDecide lets a session that is named decide about its own calls alone.
func (s *Server) mayDecide(ctx context.Context, session Session, id string) *Problem {
	f := filterOf(session)
	if f.Session == nil {
		return nil
	}
	f.Resolved = true
	list, err := s.host.Approvals(ctx, f)
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "the store of approvals cannot be read: %v", err)
	}
	if !slices.ContainsFunc(list, func(a *policy.Approval) bool { return a.ID == id }) {
		return noApproval(id)
	}
	return nil
}

func noApproval(id string) *Problem {
	return problem(http.StatusNotFound, ProblemNotFound, "there is no approval %s; GET /v1/approvals lists them", shown(id))
}

// GrantList is the answer to GET /v1/grants.
type GrantList struct {
	Grants []*policy.Grant `json:"grants"`
}

// grants lists what was decided with allow-always: of the session if one is named,
// else everybody's.
func (s *Server) grants(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	list, p := s.grantsOf(r.Context(), session)
	if p != nil {
		return p
	}
	return s.ok(w, GrantList{some(list)})
}

func (s *Server) grantsOf(ctx context.Context, session Session) ([]*policy.Grant, *Problem) {
	list, err := s.host.Grants(ctx)
	if err != nil {
		return nil, problem(http.StatusInternalServerError, ProblemInternal, "the store of approvals cannot be read: %v", err)
	}
	if session != (Session{}) {
		list = slices.DeleteFunc(list, func(g *policy.Grant) bool { return !ownsGrant(session, g) })
	}
	return list, nil
}

// ownsGrant reports whether a grant answers for calls of the session.
func ownsGrant(s Session, g *policy.Grant) bool {
	if s.AgentID != g.AgentID || s.SessionKey != g.SessionKey {
		return false
	}
	return g.SessionKey != "" || s.SessionID == g.SessionID
}

// Revoked is the answer to DELETE /v1/grants/{id}.
type Revoked struct {
	Status string `json:"status"` // revoked
}

// revoke forgets a grant.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	id := r.PathValue("id")
	list, p := s.grantsOf(r.Context(), session)
	if p != nil {
		return p
	}
	missing := problem(http.StatusNotFound, ProblemNotFound, "there is no grant %s; GET /v1/grants lists them", shown(id))
	if !slices.ContainsFunc(list, func(g *policy.Grant) bool { return g.ID == id }) {
		return missing
	}
	switch err := s.host.RevokeGrant(context.WithoutCancel(r.Context()), id); {
	case errors.Is(err, policy.ErrNotFound):
		return missing
	case err != nil:
		return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
	}
	return s.ok(w, Revoked{"revoked"})
}
