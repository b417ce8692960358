package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

// hooked is a service with hooks that records what it got.
type hooked struct {
	echo
	saw     ToolCall
	outcome CallOutcome
	verdict HookVerdict
	value   json.RawMessage
	err     error
}

func (h *hooked) BeforeToolCall(_ context.Context, c ToolCall) (HookVerdict, error) {
	h.saw = c
	return h.verdict, h.err
}

func (h *hooked) AfterToolCall(_ context.Context, c ToolCall, o CallOutcome) (json.RawMessage, error) {
	h.saw, h.outcome = c, o
	return h.value, h.err
}

var testCall = ToolCall{
	Kind: "code_mode_exec", InputKind: "typescript", ToolID: "quoin:code_mode:exec", Source: "quoin", Owner: "code_mode", ToolName: "exec",
	Via: "A.b", ReadOnly: true, Params: json.RawMessage(`{"code":"1"}`), Run: testRun, CallID: "c",
}

func TestHooksSurviveTheWire(t *testing.T) {
	h := &hooked{
		value: json.RawMessage(`"x"`),
		verdict: HookVerdict{Params: json.RawMessage(`{"n":1}`), Block: true, Reason: "r", Approval: &ApprovalRequest{
			Title: "t", Description: "d", Severity: "info", Timeout: time.Minute, Allowed: []string{"deny"}, Subject: "s",
		}},
	}
	c := dial(t, func(s *grpc.Server) { Register(s, h) })
	v, err := c.BeforeToolCall(t.Context(), testCall)
	if d := cmp.Diff(h.verdict, v); d != "" || err != nil {
		t.Errorf("verdict: %v\n%s", err, d)
	}
	if d := cmp.Diff(testCall, h.saw); d != "" {
		t.Errorf("call:\n%s", d)
	}
	o := CallOutcome{Status: "error", Message: "m", Code: "c", Duration: 5 * time.Millisecond}
	value, err := c.AfterToolCall(t.Context(), testCall, o)
	if d := cmp.Diff(o, h.outcome); d != "" || err != nil || string(value) != `"x"` {
		t.Errorf("outcome: %v, %s\n%s", err, value, d)
	}
	h.value, h.verdict = nil, HookVerdict{}
	if value, err := c.AfterToolCall(t.Context(), testCall, CallOutcome{Status: "ok", Value: json.RawMessage(`1`)}); value != nil || err != nil || string(h.outcome.Value) != `1` {
		t.Errorf("got %s, %v, %+v", value, err, h.outcome)
	}
	if v, err := c.BeforeToolCall(t.Context(), testCall); err != nil || v.Params != nil || v.Approval != nil || v.Block {
		t.Errorf("got %+v, %v", v, err)
	}
	h.err = NewError(KindPlugin, CodePanic, "it panicked")
	if _, err := c.BeforeToolCall(t.Context(), testCall); !errors.Is(err, h.err) {
		t.Errorf("got %v", err)
	}
	if _, err := c.AfterToolCall(t.Context(), testCall, o); !errors.Is(err, h.err) {
		t.Errorf("got %v", err)
	}
}

func TestHookRepliesAreChecked(t *testing.T) {
	h := &hooked{verdict: HookVerdict{Params: json.RawMessage(`{"n":`)}, value: json.RawMessage(`{`)}
	c := dial(t, func(s *grpc.Server) { Register(s, h) })
	want := &Error{Kind: KindProtocol, Code: CodeMalformedReply}
	if _, err := c.BeforeToolCall(t.Context(), testCall); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	if _, err := c.AfterToolCall(t.Context(), testCall, CallOutcome{}); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	huge := make(json.RawMessage, MaxMessageBytes)
	call := testCall
	call.Params = huge
	if _, err := c.BeforeToolCall(t.Context(), call); !errors.Is(err, &Error{Code: CodeRequestTooLarge}) {
		t.Errorf("got %v", err)
	}
	if _, err := c.AfterToolCall(t.Context(), testCall, CallOutcome{Value: huge}); !errors.Is(err, &Error{Code: CodeRequestTooLarge}) {
		t.Errorf("got %v", err)
	}
	h.verdict.Params, h.value = huge, huge
	if _, err := c.BeforeToolCall(t.Context(), testCall); err == nil {
		t.Error("a verdict over the limit was taken")
	}
	if _, err := c.AfterToolCall(t.Context(), testCall, CallOutcome{}); err == nil {
		t.Error("a value over the limit was taken")
	}
}

func TestAPluginWithoutHooksSaysSo(t *testing.T) {
	c := dial(t, func(s *grpc.Server) { Register(s, &echo{}) })
	want := &Error{Kind: KindInput, Code: CodeUnknownHook}
	if _, err := c.BeforeToolCall(t.Context(), testCall); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	if _, err := c.AfterToolCall(t.Context(), testCall, CallOutcome{}); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

// FuzzVerdict feeds the reader of what a hook of a plugin says.
func FuzzVerdict(f *testing.F) {
	for _, v := range []HookVerdict{{}, {Params: json.RawMessage(`{"a":1}`), Approval: &ApprovalRequest{Timeout: math.MaxInt64, Allowed: []string{"x"}}}, {Block: true, Reason: "no"}} {
		b, err := proto.Marshal(verdictToWire(v))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("\x12\x03{]}\x2a\x0a\x20\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Add([]byte("\x12\a{\"\xf7\":1}")) // not UTF-8
	f.Fuzz(func(t *testing.T, b []byte) {
		var w protocolpb.BeforeToolCallResponse
		if proto.Unmarshal(b, &w) != nil {
			return
		}
		checkError(t, errorFromWire(w.GetError()))
		v, bad := verdictFromWire(&w)
		if bad != nil {
			checkError(t, bad)
			return
		}
		mustBeJSON(t, "params", v.Params)
		if a := v.Approval; a != nil && (a.Timeout < 0) != (w.GetApproval().GetTimeoutMs() < 0) {
			t.Fatalf("%d ms became %v", w.GetApproval().GetTimeoutMs(), a.Timeout)
		}
	})
}
