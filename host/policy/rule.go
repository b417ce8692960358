package policy

import (
	"context"
	"fmt"
	"slices"
)

// ApprovalRule asks for an approval of every call of some tools: what a
// configuration can say without a program.
type ApprovalRule struct {
	// Tools are patterns as in Rules. At least one is needed.
	Tools []string
	// SubjectPath names the part of the input that allow-always is remembered
	// for, as "$.path" or "$.file.name". A call without that part in its input offers no
	// allow-always.
	SubjectPath string
	// ApprovalRequest is what is asked. Its Allowed defaults to allow-once and
	// deny, and with a SubjectPath to all: a rule sees no input, so that
	// allow-always would let through whatever the tool can do.
	ApprovalRequest
}

// Hook is the hook that the rule stands for. Grants are remembered under the name.
func (r ApprovalRule) Hook(name string) (Hook, error) {
	if len(r.Tools) == 0 {
		return Hook{}, fmt.Errorf("the rule %q names no tools", name)
	}
	if _, err := ParsePatterns(name+".tools", r.Tools); err != nil {
		return Hook{}, err
	}
	path, err := parseSubjectPath(r.SubjectPath)
	if err != nil {
		return Hook{}, fmt.Errorf("the rule %q: %w", name, err)
	}
	if len(r.Allowed) == 0 && path == nil {
		r.Allowed = []Decision{AllowOnce, Deny}
	}
	if _, err := r.ApprovalRequest.resolved(); err != nil {
		return Hook{}, fmt.Errorf("the rule %q: %w", name, err)
	}
	return Hook{Name: name, Tools: r.Tools, Before: func(_ context.Context, c *Call) (Verdict, error) {
		req := r.ApprovalRequest
		if path != nil {
			req.Subject = path.of(c.Params)
			if req.Subject == "" || len(req.Subject) > maxSubject {
				req.Subject, req.Allowed = "", without(req.Allowed, AllowAlways)
			}
		}
		return Verdict{Approval: &req}, nil
	}}, nil
}

// without returns the decisions but for one. An empty list stands for all.
func without(list []Decision, d Decision) []Decision {
	if len(list) == 0 {
		list = allDecisions
	}
	left := slices.DeleteFunc(slices.Clone(list), func(o Decision) bool { return o == d })
	if len(left) == 0 {
		return []Decision{Deny} // an empty list would stand for all
	}
	return left
}
