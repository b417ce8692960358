package main

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/sdk"
)

// before judges calls of exec and process before they are made.
func (s *shell) before(ctx context.Context, c *sdk.ToolCall) (sdk.Verdict, error) {
	if c.ToolName != execTool {
		return sdk.Verdict{}, nil
	}
	var in execInput
	if err := decodeParams(c.Params, execFields, &in); err != nil {
		return block(err)
	}
	p, err := s.plan(ctx, c.Run, in)
	if err != nil {
		return block(err)
	}
	switch p.decision {
	case refuse:
		return block(p.refusal())
	case askFirst:
		return sdk.Verdict{Approval: s.approval(p)}, nil
	}
	return sdk.Verdict{}, nil
}

// block refuses a call for what the model may read; other errors are the plugin's.
func block(err error) (sdk.Verdict, error) {
	var e *sdk.Error
	if !errors.As(err, &e) {
		return sdk.Verdict{}, err
	}
	return sdk.Verdict{Block: true, Reason: e.Message}, nil
}

// approval is what a person is asked.
func (s *shell) approval(p *plan) *sdk.Approval {
	allowed := []string{"allow-once", "deny"}
	if p.remembered() {
		allowed = []string{"allow-once", "allow-always", "deny"}
	}
	severity := "warning"
	if p.elevated {
		severity = "critical"
	}
	return &sdk.Approval{
		Title: "Run a command", Description: s.describe(p), Severity: severity,
		Timeout: time.Duration(s.settings.ApprovalTimeoutSeconds) * time.Second,
		Allowed: allowed, Subject: p.subject,
	}
}
