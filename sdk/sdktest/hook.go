package sdktest

import (
	"context"
	"encoding/json"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
)

// Before asks the plugin's before-hook about a call; a call without a run belongs
// to the run of the harness. An error is a *protocol.Error; a host would block.
func (h *Harness) Before(c sdk.ToolCall) (protocol.HookVerdict, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), callTimeout)
	defer cancel()
	return h.client.BeforeToolCall(ctx, h.hookCall(c))
}

// CallApproved is [Harness.Call] with the approval of a person, as a host makes the call
// when the plugin's before-hook has asked for one.
func (h *Harness) CallApproved(a sdk.CallApproval, tool string, input any) (json.RawMessage, error) {
	h.t.Helper()
	result, _, err := h.call(h.t.Context(), tool, input, &a)
	return result, err
}

// After tells the plugin's after-hook how a call ended, and returns nil or the
// value that replaces the call's. After an error a host would withhold it.
func (h *Harness) After(c sdk.ToolCall, o sdk.CallOutcome) (json.RawMessage, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), callTimeout)
	defer cancel()
	return h.client.AfterToolCall(ctx, h.hookCall(c), o)
}

func (h *Harness) hookCall(c sdk.ToolCall) sdk.ToolCall {
	if c.Run.RunID == "" {
		c.Run = h.currentRun()
	}
	if c.Kind == "" {
		c.Kind = "tool"
	}
	return c
}
