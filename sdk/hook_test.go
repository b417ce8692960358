package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

// guard is a plugin with hooks that ask, rewrite, block and redact.
func guard() *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: "guard", Version: "1"}, nil)
	p.BeforeToolCall(func(_ context.Context, c *sdk.ToolCall) (sdk.Verdict, error) {
		switch c.ToolName {
		case "delete":
			return sdk.Verdict{Approval: &sdk.Approval{Title: "Delete?", Severity: "critical", Timeout: time.Minute, Allowed: []string{"allow-once"}, Subject: c.Owner}}, nil
		case "rewrite":
			return sdk.Verdict{Params: map[string]string{"was": string(c.Params)}}, nil
		case "block":
			return sdk.Verdict{Block: true, Reason: "not today"}, nil
		case "panic":
			panic("boom")
		case "fail":
			return sdk.Verdict{}, sdk.Errorf("busy", "later")
		}
		return sdk.Verdict{}, nil
	}, "owner:issues")
	p.AfterToolCall(func(_ context.Context, _ *sdk.ToolCall, o sdk.CallOutcome) (any, error) {
		if strings.Contains(string(o.Value), "secret") {
			return "***", nil
		}
		return json.RawMessage(nil), nil
	}, "read")
	return p
}

// TestAToolSeesItsApproval, and nil without one.
func TestAToolSeesItsApproval(t *testing.T) {
	p := sdk.New(sdk.Info{ID: "guarded", Version: "1"}, nil)
	sdk.AddTool(p, sdk.Tool{Name: "remove", Description: "Removes."},
		func(_ context.Context, c *sdk.Call, _ struct{}) (*sdk.CallApproval, error) { return c.Approval, nil })
	h := sdktest.Start(t, p, nil)
	if got, err := h.Call("remove", nil); string(got) != "null" || err != nil {
		t.Errorf("%s, %v, want null", got, err)
	}
	want := sdk.CallApproval{ID: "apr_1", Subject: "rm", Edited: true}
	var got sdk.CallApproval
	raw, err := h.CallApproved(want, "remove", nil)
	if err != nil || json.Unmarshal(raw, &got) != nil || got != want {
		t.Errorf("%s, %v, want %+v", raw, err, want)
	}
}

func hookCall(tool string) sdk.ToolCall {
	return sdk.ToolCall{Kind: "tool", ToolID: "quoin:issues:" + tool, Source: "quoin", Owner: "issues", ToolName: tool, Params: json.RawMessage(`{"n":1}`), CallID: "c"}
}

func TestHooks(t *testing.T) {
	h := sdktest.Start(t, guard(), nil)
	if d := cmp.Diff(protocol.Capabilities{BeforeToolCall: true, AfterToolCall: true, HookTools: []string{"owner:issues", "read"}}, h.Describe().Capabilities); d != "" {
		t.Errorf("capabilities (-want +got):\n%s", d)
	}
	for tool, want := range map[string]protocol.HookVerdict{
		"list":    {},
		"rewrite": {Params: json.RawMessage(`{"was":"{\"n\":1}"}`)},
		"block":   {Block: true, Reason: "not today"},
		"delete": {Approval: &protocol.ApprovalRequest{
			Title: "Delete?", Severity: "critical", Timeout: time.Minute, Allowed: []string{"allow-once"}, Subject: "issues",
		}},
	} {
		got, err := h.Before(hookCall(tool))
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tool, err, d)
		}
	}
	for tool, want := range map[string]*protocol.Error{
		"panic": {Kind: protocol.KindPlugin, Code: protocol.CodePanic},
		"fail":  {Kind: protocol.KindTool, Code: "busy"},
	} {
		if _, err := h.Before(hookCall(tool)); !errors.Is(err, want) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	for value, want := range map[string]string{`"a secret"`: `"***"`, `"plain"`: ""} {
		got, err := h.After(hookCall("read"), sdk.CallOutcome{Status: "ok", Value: json.RawMessage(value)})
		if string(got) != want || err != nil {
			t.Errorf("after %s: %s, %v, want %s", value, got, err, want)
		}
	}
}

func TestAPluginHasOneHookOfAKind(t *testing.T) {
	for name, add := range map[string]func(*sdk.Plugin){
		"before": func(p *sdk.Plugin) {
			p.BeforeToolCall(nil)
			p.BeforeToolCall(func(context.Context, *sdk.ToolCall) (sdk.Verdict, error) { return sdk.Verdict{}, nil })
		},
		"after": func(p *sdk.Plugin) {
			p.AfterToolCall(func(context.Context, *sdk.ToolCall, sdk.CallOutcome) (any, error) { return nil, nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if p := recover(); p == nil {
					t.Error("no panic")
				}
			}()
			add(guard())
		})
	}
}
