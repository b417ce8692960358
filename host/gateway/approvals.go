package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// ApprovalList is the answer to GET /v1/approvals.
type ApprovalList struct {
	// Approvals are oldest first. Those that were decided are listed for a day, if
	// the request asked for state=all.
	Approvals []*policy.Approval `json:"approvals"`
}

// list answers with the calls that wait for a person: the session's calls if a session is
// named, else the calls of all sessions.
func (h approvalHandlers) list(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	f := filterOf(session)
	f.RunID = r.URL.Query().Get("run")
	switch state := r.URL.Query().Get("state"); state {
	case "", "pending":
	case "all":
		f.Resolved = true
	default:
		return invalid("state", "it is "+shown(state), "pending or all")
	}
	list, err := h.host.Approvals().List(r.Context(), f)
	if err != nil {
		return problem(http.StatusInternalServerError, ProblemInternal, "the store of approvals cannot be read: %v", err)
	}
	return h.ok(w, ApprovalList{nonNil(list)})
}

// filterOf chooses the approvals that a caller may see.
func filterOf(s Session) policy.Filter {
	if s == (Session{}) {
		return policy.Filter{}
	}
	return policy.Filter{Session: &s}
}

// decide enters a decision, even if the client goes away before it is entered.
func (h approvalHandlers) decide(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	id := f.required("id", "the id of an approval")
	decision := f.required("decision", "allow-once, allow-always or deny")
	claim := f.text("by")
	input := f.raw("input")
	if input != nil && decision != string(policy.AllowOnce) {
		f.fail("input", "it comes with the decision "+shown(decision), "allow-once: an edited input is allowed once")
	}
	if p := f.problem(); p != nil {
		return p
	}
	return h.enter(w, r, session, id, func(ctx context.Context) (*policy.Approval, error) {
		if input != nil {
			return h.host.Approvals().AllowEdited(ctx, id, input, h.decider(claim))
		}
		return h.host.Approvals().Decide(ctx, id, policy.Decision(decision), h.decider(claim))
	})
}

// answer enters the answers to the questions of a call, even if the client goes away
// before they are entered.
func (h approvalHandlers) answer(w http.ResponseWriter, r *http.Request, session Session, f *fields) *Problem {
	id := f.required("id", "the id of an approval")
	claim := f.text("by")
	answers := make(map[string]codemode.QuestionAnswer)
	f.object("answers", func(f *fields) {
		for _, question := range slices.Sorted(maps.Keys(f.members)) {
			f.object(question, func(f *fields) {
				action := f.required("action", "accept, decline or cancel")
				answers[question] = codemode.QuestionAnswer{Action: codemode.AnswerAction(action), Content: f.raw("content")}
			})
		}
	})
	if p := f.problem(); p != nil {
		return p
	}
	return h.enter(w, r, session, id, func(ctx context.Context) (*policy.Approval, error) {
		return h.host.Approvals().Answer(ctx, id, answers, h.decider(claim))
	})
}

// enter has an approval decided, and answers with it. A session that is named decides about
// its own calls only.
func (h approvalHandlers) enter(w http.ResponseWriter, r *http.Request, session Session, id string, decide func(context.Context) (*policy.Approval, error)) *Problem {
	ctx := context.WithoutCancel(r.Context())
	if f := filterOf(session); f.Session != nil {
		f.Resolved = true
		list, err := h.host.Approvals().List(ctx, f)
		if err != nil {
			return problem(http.StatusInternalServerError, ProblemInternal, "the store of approvals cannot be read: %v", err)
		}
		if !slices.ContainsFunc(list, func(a *policy.Approval) bool { return a.ID == id }) {
			return noApproval(id)
		}
	}
	a, err := decide(ctx)
	switch {
	case err == nil:
		return h.ok(w, a)
	case errors.Is(err, policy.ErrNotFound):
		return noApproval(id)
	case errors.Is(err, policy.ErrNotAllowed), errors.Is(err, policy.ErrInvalidAnswer):
		return problem(http.StatusBadRequest, ProblemInvalidRequest, "%v", err)
	case errors.Is(err, policy.ErrDecided), errors.Is(err, policy.ErrExpired), errors.Is(err, policy.ErrCancelled):
		return problem(http.StatusConflict, ProblemConflict, "%v", err)
	}
	return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
}

// decider names who decides, for the record: what proves the caller's right, and
// the name that the caller claims, which nothing proves.
func (h *handlers) decider(claim string) string {
	proven := "server: token"
	if h.options.Token == "" {
		proven = "server: no token"
	}
	if claim == "" {
		return proven
	}
	return fmt.Sprintf("%s (unverified: %q)", proven, claim)
}

// noApproval makes the problem of an approval that the caller cannot see.
func noApproval(id string) *Problem {
	return problem(http.StatusNotFound, ProblemNotFound, "there is no approval %s; GET /v1/approvals lists them", shown(id))
}

// GrantList is the answer to GET /v1/grants.
type GrantList struct {
	// Grants are oldest first. Expired ones are left out.
	Grants []*policy.Grant `json:"grants"`
}

// list answers with what was decided with allow-always: for the session if one is
// named, else for all sessions.
func (h grantHandlers) list(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	list, p := h.visible(r.Context(), session)
	if p != nil {
		return p
	}
	return h.ok(w, GrantList{nonNil(list)})
}

// visible returns the grants that the caller may see.
func (h grantHandlers) visible(ctx context.Context, session Session) ([]*policy.Grant, *Problem) {
	list, err := h.host.Approvals().Grants(ctx)
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

// revoked is the answer to DELETE /v1/grants/{id}.
type revoked struct {
	Status string `json:"status"` // revoked
}

// revoke removes a grant: its calls need an approval again.
func (h grantHandlers) revoke(w http.ResponseWriter, r *http.Request, session Session) *Problem {
	id := r.PathValue("id")
	list, p := h.visible(r.Context(), session)
	if p != nil {
		return p
	}
	missing := problem(http.StatusNotFound, ProblemNotFound, "there is no grant %s; GET /v1/grants lists them", shown(id))
	if !slices.ContainsFunc(list, func(g *policy.Grant) bool { return g.ID == id }) {
		return missing
	}
	switch err := h.host.Approvals().Revoke(context.WithoutCancel(r.Context()), id); {
	case errors.Is(err, policy.ErrNotFound):
		return missing
	case err != nil:
		return problem(http.StatusInternalServerError, ProblemInternal, "%v", err)
	}
	return h.ok(w, revoked{"revoked"})
}
