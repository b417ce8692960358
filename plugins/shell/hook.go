package main

import (
	"context"
	"errors"
	"time"

	"github.com/quoinhq/quoin/sdk"
)

// before judges calls of exec and process before they are made.
func (s *shell) before(ctx context.Context, c *sdk.ToolCall) (sdk.Verdict, error) {
	if c.ToolName == processTool {
		return s.beforeProcess(c)
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

// beforeProcess judges calls of process.
func (s *shell) beforeProcess(c *sdk.ToolCall) (sdk.Verdict, error) {
	var in processInput
	if err := decodeParams(c.Params, processFields, &in); err != nil {
		return block(err)
	}
	session, err := s.table.Get(owner(c.Run), in.SessionID)
	if err != nil {
		return sdk.Verdict{}, nil // the tool says what there is to say
	}
	a, err := s.approvalOfInput(session, in)
	if err != nil {
		return block(err)
	}
	return sdk.Verdict{Approval: a}, nil
}

// block refuses a call for what the model may read; other errors are the plugin's.
func block(err error) (sdk.Verdict, error) {
	var e *sdk.Error
	if !errors.As(err, &e) {
		return sdk.Verdict{}, err
	}
	return sdk.Verdict{Block: true, Reason: e.Message}, nil
}

// onceOnly are the decisions about what must not be remembered.
var onceOnly = []string{"allow-once", "deny"}

func (s *shell) approvalTimeout() time.Duration {
	return time.Duration(s.settings.ApprovalTimeoutSeconds) * time.Second
}

// approval is what a person is asked.
func (s *shell) approval(p *plan) *sdk.Approval {
	allowed := onceOnly
	if p.rememberable() {
		allowed = []string{"allow-once", "allow-always", "deny"}
	}
	severity := "warning"
	if p.elevated {
		severity = "critical"
	}
	return &sdk.Approval{
		Title: "Run a command", Description: s.describe(p), Severity: severity,
		Timeout: s.approvalTimeout(),
		Allowed: allowed, Subject: p.subject,
	}
}
