package runs

import (
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
)

// pendingApprovals are what people are asked about calls of the run, in the order of the
// calls. What the store cannot say is left out.
func (r *run) pendingApprovals() (out []codemode.PendingApproval) {
	for _, id := range r.calls.AwaitedApprovals() {
		a, err := r.engine.ApprovalStore.Get(r.background(), id)
		if err != nil {
			r.engine.Logger.Warn("an approval that a run waits for could not be read", "run", r.id, "approval", id, "error", err)
			continue
		}
		if a.State == policy.StatePending {
			out = append(out, pendingApproval(a))
		}
	}
	return out
}

// pendingApproval is an approval as a Result has it.
func pendingApproval(a *policy.Approval) codemode.PendingApproval {
	p := codemode.PendingApproval{
		ID: a.ID, CallID: a.CallID, ToolID: a.ToolID, Title: a.Title, Description: a.Description, Severity: string(a.Severity),
		Input: a.Input, InputCut: a.InputCut, Questions: a.Questions, Expires: a.Expires,
	}
	for _, d := range a.Allowed {
		p.Allowed = append(p.Allowed, string(d))
	}
	return p
}
