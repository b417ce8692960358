package gateway

import (
	"context"
	"errors"
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
	return policy.Filter{Session: &policy.Session{AgentID: s.AgentID, SessionKey: s.SessionKey, SessionID: s.SessionID, RunID: s.RunID}}
}

// decide enters a decision. Its client may go away: the decision counts.
func (s *Server) decide(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	f, p := s.body(w, r)
	if p != nil {
		return p
	}
	id := f.required("id", "the id of an approval")
	decision := f.required("decision", "allow-once, allow-always or deny")
	by := f.text("by")
	if p := f.problem(); p != nil {
		return p
	}
	ctx := context.WithoutCancel(r.Context())
	if p := s.mayDecide(ctx, session, id); p != nil {
		return p
	}
	a, err := s.host.Decide(ctx, id, policy.Decision(decision), by)
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
