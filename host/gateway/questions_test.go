package gateway_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/gateway"
	"github.com/quoinhq/quoin/host/policy"
)

// asksSize is a tool that asks for a size.
func asksSize(_ context.Context, inv catalog.Invocation) (json.RawMessage, error) {
	if inv.Resumption == nil {
		return nil, &codemode.InputRequired{Questions: []codemode.Question{{ID: "size", Kind: codemode.QuestionForm, From: "shop", Message: "Which size?",
			Schema: json.RawMessage(`{"type":"object","properties":{"size":{"type":"string","enum":["S","M"]}},"required":["size"]}`)}}}
	}
	return inv.Resumption.Answers["size"].Content, nil
}

// onlyApproval returns the one approval that the caller sees.
func onlyApproval(t *testing.T, c *caller, query string) *policy.Approval {
	t.Helper()
	var list gateway.ApprovalList
	if err := json.Unmarshal(c.get("/v1/approvals"+query).wants(200).body, &list); err != nil || len(list.Approvals) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list.Approvals[0]
}

// TestQuestions has people answer what a tool asks, over HTTP.
func TestQuestions(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{Tools: []catalog.Tool{{Name: "order", Description: "Orders.", Invoke: asksSize}}})
	c := serve(t, h, gateway.Options{}, nil)
	id := c.asks(`return await tools.order({})`)
	a := onlyApproval(t, c, "")
	if len(a.Questions) != 1 || a.Questions[0].Message != "Which size?" || a.State != policy.StatePending || len(a.Allowed) != 0 {
		t.Errorf("%+v", a)
	}
	body := func(action, content string) map[string]any {
		one := map[string]any{"action": action}
		if content != "" {
			one["content"] = json.RawMessage(content)
		}
		return map[string]any{"id": a.ID, "by": "ada", "answers": map[string]any{"size": one}}
	}
	const path = "/v1/approvals/answers"
	for _, bad := range []map[string]any{
		{"id": a.ID}, {"id": a.ID, "answers": 7}, {"id": a.ID, "answers": map[string]any{"size": "M"}}, {"id": a.ID, "answers": map[string]any{"size": nil}},
		{"id": a.ID, "answers": map[string]any{"size": map[string]any{"action": "accept", "more": 1}}},
		body("", ""), body("yes", ""), body("accept", ""), body("accept", `{"size":"XL"}`), body("decline", `{}`),
	} {
		c.post(path, bad).problem(400, gateway.ProblemInvalidRequest)
	}
	c.post("/v1/approvals", map[string]string{"id": a.ID, "decision": "allow-once"}).problem(400, gateway.ProblemInvalidRequest)
	c.as(host.Session{SessionID: "other"}).post(path, body("decline", "")).problem(404, gateway.ProblemNotFound)
	c.post(path, map[string]any{"id": "apr_0", "answers": map[string]any{}}).problem(404, gateway.ProblemNotFound)
	c.post(path, body("accept", `{"size":"M"}`)).wants(200, "state", `"answered"`, "answers", `{"size":{"action":"accept"}}`, "by", `"server: no token (unverified: \"ada\")"`)
	c.post(path, body("accept", `{"size":"M"}`)).wants(200) // again
	c.post(path, body("decline", "")).problem(409, gateway.ProblemConflict)
	c.wait(id).wants(200, "value", `{"size":"M"}`)
	c.get("/v1/approvals?state=all").wants(200)
}

// TestEditedInputs lets people change what a call is made with.
func TestEditedInputs(t *testing.T) {
	t.Parallel()
	ask := policy.Hook{Name: "careful", Before: func(context.Context, *policy.Call) (policy.Verdict, error) {
		return policy.Verdict{Approval: &policy.ApprovalRequest{}}, nil
	}, Tools: []string{"pay"}}
	tool := catalog.Tool{Name: "pay", Description: "Pays.", Parameters: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer","maximum":10}}}`),
		Invoke: func(_ context.Context, inv catalog.Invocation) (json.RawMessage, error) { return inv.Input, nil }}
	h := newHost(t, host.Config{Tools: []catalog.Tool{tool}, Hooks: []policy.Hook{ask}})
	c := serve(t, h, gateway.Options{}, nil)
	id := c.post("/v1/exec", map[string]any{"code": `return await tools.pay({sum: 9})`, "waitMs": 1000}).wants(200, "reason", `"approval"`).text("runId")
	a := onlyApproval(t, c, "")
	if string(a.InputSchema) != string(tool.Parameters) {
		t.Errorf("%+v", a)
	}
	edit := func(decision, input string) *answer {
		return c.post("/v1/approvals", map[string]any{"id": a.ID, "decision": decision, "input": json.RawMessage(input)})
	}
	edit("allow-always", `{"sum":1}`).problem(400, gateway.ProblemInvalidRequest)
	edit("deny", `{"sum":1}`).problem(400, gateway.ProblemInvalidRequest)
	edit("allow-once", `{"sum":11}`).problem(400, gateway.ProblemInvalidRequest)
	edit("allow-once", `{"sum":1}`).wants(200, "state", `"allowed"`, "input", `{"sum":9}`, "editedInput", `{"sum":1}`)
	edit("allow-once", `{"sum":2}`).problem(409, gateway.ProblemConflict)
	c.wait(id).wants(200, "value", `{"sum":1}`)
}
