package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/quoinhq/quoin/host/policy"
)

// Approvals is what people are asked, of every run in the store of approvals, and what they have
// decided. Its callers may allow anything: the embedder decides who may call it.
type Approvals struct{ host *Host }

// Approvals returns what people are asked.
func (h *Host) Approvals() Approvals { return Approvals{h} }

func (a Approvals) store() policy.Approvals { return a.host.cfg.Approvals.Store }

// List returns the calls that wait for a person, or those that f chooses.
func (a Approvals) List(ctx context.Context, f policy.Filter) ([]*policy.Approval, error) {
	return policy.Select(ctx, a.store(), f, time.Now())
}

// Decide enters what a person has decided about an approval; by says who, for the
// record. It returns the approval as it is then. The same decision again is no
// error. See policy.Decide for the errors.
func (a Approvals) Decide(ctx context.Context, id string, d policy.Decision, by string) (*policy.Approval, error) {
	p, err := policy.Decide(ctx, a.store(), id, d, by, time.Now())
	return a.decided(ctx, p, err)
}

// AllowEdited is Decide with allow-once for another input than the call's own. See
// policy.AllowEdited.
func (a Approvals) AllowEdited(ctx context.Context, id string, input json.RawMessage, by string) (*policy.Approval, error) {
	p, err := policy.AllowEdited(ctx, a.store(), id, input, by, time.Now())
	return a.decided(ctx, p, err)
}

// Answer enters what a person has answered to the questions of an approval, by
// question id. See policy.Answer.
func (a Approvals) Answer(ctx context.Context, id string, answers map[string]QuestionAnswer, by string) (*policy.Approval, error) {
	p, err := policy.Answer(ctx, a.store(), id, answers, by, time.Now())
	return a.decided(ctx, p, err)
}

// decided resumes the run of an approval if no process has the run.
func (a Approvals) decided(ctx context.Context, p *policy.Approval, err error) (*policy.Approval, error) {
	if err == nil {
		a.host.engine.Decided(ctx, p.RunID)
	}
	return p, err
}

// AnswerAuthorization accepts every pending question that asks to sign in to an MCP
// server, and returns how many there were. Owns chooses sessions; nil is all. See
// policy.AnswerAuthorization.
func (a Approvals) AnswerAuthorization(ctx context.Context, server string, owns func(Session) bool, by string) (answered int, err error) {
	return policy.AnswerAuthorization(ctx, a.store(), server, owns, by, time.Now())
}

// Grants lists what was decided with allow-always and still answers, oldest first.
func (a Approvals) Grants(ctx context.Context) ([]*policy.Grant, error) {
	return policy.LiveGrants(ctx, a.store(), time.Now())
}

// Revoke forgets an allow-always: the next call that it would have answered
// asks again. The error is policy.ErrNotFound if there is no such grant.
func (a Approvals) Revoke(ctx context.Context, id string) error { return a.store().Forget(ctx, id) }
