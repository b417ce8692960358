package main

import (
	"context"
	"errors"

	"github.com/quoinhq/quoin/examples/plugins/fictions/desk"
	"github.com/quoinhq/quoin/sdk"
)

// service is what the tools work on.
type service struct {
	config config
	desk   *desk.Desk
}

type promoteInput struct {
	ID     string `json:"id" min:"1" max:"20" jsonschema:"story id such as F-105"`
	Status string `json:"status" enum:"pitch,draft,edit,proof,published" jsonschema:"the status to move it to; must be its next one"`
}

type unpaidInput struct {
	Amount float64 `json:"amount" min:"0" max:"1000000000" jsonschema:"in euros; only invoices of more than this are returned"`
}

func (s *service) addAudit(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "fictions_risk_audit",
		Label:       "Audit risks",
		Description: "Lists the stories that are late, short of words close to their date, without an editor, or owe overdue invoices; the gravest first, with the reasons.",
		ReadOnly:    true,
		Idempotent:  true,
		Examples:    []sdk.Example{{Input: struct{}{}}},
	}, func(ctx context.Context, _ *sdk.Call, _ struct{}) (desk.Audit, error) {
		return explain(s.desk.RiskAudit(ctx))
	})
}

func (s *service) addPromote(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "fictions_promote_if_ready",
		Label:       "Promote a story",
		Description: "Moves a story to its next status if nothing blocks it, and says what does otherwise. A story that is not ready is an answer with blockers, not an error.",
		Idempotent:  true,
		Examples:    []sdk.Example{{Input: promoteInput{ID: "F-105", Status: "edit"}}},
	}, func(ctx context.Context, _ *sdk.Call, in promoteInput) (desk.Promotion, error) {
		return explain(s.desk.PromoteIfReady(ctx, in.ID, in.Status))
	})
}

func (s *service) addUnpaid(p *sdk.Plugin) *sdk.ToolRef {
	return sdk.AddTool(p, sdk.Tool{
		Name:        "fictions_unpaid_over",
		Label:       "List unpaid invoices",
		Description: "Lists the unpaid invoices of more than an amount of euros, the largest first, with their sum.",
		ReadOnly:    true,
		Idempotent:  true,
		Examples:    []sdk.Example{{Input: unpaidInput{Amount: 1000}}},
	}, func(ctx context.Context, _ *sdk.Call, in unpaidInput) (desk.Unpaid, error) {
		return explain(s.desk.UnpaidOver(ctx, in.Amount))
	})
}

// explain turns a refusal of the desk into one the model may read. Other
// errors pass as they are.
func explain[T any](out T, err error) (T, error) {
	if refusal, ok := errors.AsType[*desk.Error](err); ok {
		err = &sdk.Error{Code: refusal.Code, Message: refusal.Message, Details: refusal.Details}
	}
	return out, err
}
