package policy

import (
	"context"
	"fmt"
)

// ApprovalRule asks for an approval of every call of some tools: what a
// configuration can say without a program.
type ApprovalRule struct {
	// Tools are patterns as in Rules. At least one is needed.
	Tools []string
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
	if _, err := r.ApprovalRequest.resolved(); err != nil {
		return Hook{}, fmt.Errorf("the rule %q: %w", name, err)
	}
	return Hook{Name: name, Tools: r.Tools, Before: func(context.Context, *Call) (Verdict, error) {
		req := r.ApprovalRequest
		return Verdict{Approval: &req}, nil
	}}, nil
}
