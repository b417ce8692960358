package sdktest

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/quoinhq/quoin/plugins/protocol"
)

// CallInverse calls a tool and returns how that call is undone, or nil if the tool says
// that it has changed nothing. It fails the test if the call fails, or names an inverse
// that cannot be called: a tool that is not there or not Idempotent.
func (h *Harness) CallInverse(tool string, input any) *protocol.Inverse {
	h.t.Helper()
	b, err := json.Marshal(input)
	if err != nil {
		h.t.Fatalf("sdktest: the input of %s has no JSON form: %v", tool, err)
	}
	if info, ok := h.desc.Tool(tool); ok && !info.Revertible {
		h.t.Fatalf("sdktest: tool %s has no Revert", tool)
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), callTimeout)
	defer cancel()
	var inverse *protocol.Inverse
	id := "call-" + strconv.FormatInt(h.calls.Add(1), 10)
	_, err = h.client.CallTool(ctx, protocol.CallRequest{
		Tool: tool, CallID: id, IdempotencyKey: h.prefix + id, Run: h.currentRun(), Input: b,
		RevertBy: func(i protocol.Inverse) { inverse = &i },
	}, nil)
	if err != nil {
		h.t.Fatalf("sdktest: %s: %v", tool, err)
	}
	if inverse == nil || inverse.Impossible != "" {
		return inverse
	}
	if by, ok := h.desc.Tool(inverse.Tool); !ok || !by.Idempotent {
		h.t.Fatalf("sdktest: %s is undone by %s: expected a tool of the plugin that is Idempotent", tool, inverse.Tool)
	}
	return inverse
}

// Revert calls an inverse as a host does that was killed in the middle: twice, with one
// idempotency key. An error is a *protocol.Error.
func (h *Harness) Revert(i *protocol.Inverse) error {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), callTimeout)
	defer cancel()
	key := h.prefix + "undo-" + strconv.FormatInt(h.calls.Add(1), 10)
	for _, id := range []string{"-first", "-second"} {
		_, err := h.client.CallTool(ctx, protocol.CallRequest{
			Tool: i.Tool, CallID: key + id, IdempotencyKey: key, Run: h.currentRun(), Input: i.Input,
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}
