package protocol

import (
	"math"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol/protocolpb"
)

func toolCallToWire(c ToolCall) *protocolpb.ToolCall {
	return &protocolpb.ToolCall{
		Kind: c.Kind, InputKind: c.InputKind,
		ToolId: validText(c.ToolID), Source: validText(c.Source), Owner: validText(c.Owner), ToolName: validText(c.ToolName),
		Via: validText(c.Via), ReadOnly: c.ReadOnly, Params: c.Params, Run: runToWire(c.Run), CallId: validText(c.CallID),
	}
}

func toolCallFromWire(w *protocolpb.ToolCall) ToolCall {
	return ToolCall{
		Kind: w.GetKind(), InputKind: w.GetInputKind(),
		ToolID: w.GetToolId(), Source: w.GetSource(), Owner: w.GetOwner(), ToolName: w.GetToolName(),
		Via: w.GetVia(), ReadOnly: w.GetReadOnly(), Params: nilIfEmpty(w.GetParams()), Run: runFromWire(w.GetRun()), CallID: w.GetCallId(),
	}
}

func verdictToWire(v HookVerdict) *protocolpb.BeforeToolCallResponse {
	w := &protocolpb.BeforeToolCallResponse{Params: v.Params, Block: v.Block, Reason: validText(v.Reason)}
	if a := v.Approval; a != nil {
		w.Approval = &protocolpb.ApprovalRequest{
			Title: validText(a.Title), Description: validText(a.Description), Severity: validText(a.Severity),
			TimeoutMs: a.Timeout.Milliseconds(), Subject: validText(a.Subject),
		}
		for _, d := range a.Allowed {
			w.Approval.AllowedDecisions = append(w.Approval.AllowedDecisions, validText(d))
		}
	}
	return w
}

// verdictFromWire reads a verdict. Its caller judges what the words in it
// mean.
func verdictFromWire(w *protocolpb.BeforeToolCallResponse) (HookVerdict, *Error) {
	params, err := checkedJSON(w.GetParams(), "the rewritten input")
	if err != nil {
		return HookVerdict{}, err
	}
	v := HookVerdict{Params: params, Block: w.GetBlock(), Reason: w.GetReason()}
	if a := w.GetApproval(); a != nil {
		v.Approval = &ApprovalRequest{
			Title: a.GetTitle(), Description: a.GetDescription(), Severity: a.GetSeverity(),
			Timeout: milliseconds(a.GetTimeoutMs()), Allowed: a.GetAllowedDecisions(), Subject: a.GetSubject(),
		}
	}
	return v, nil
}

// milliseconds is n milliseconds, or the nearest duration there is.
func milliseconds(n int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(max(n, -most), most)) * time.Millisecond
}
