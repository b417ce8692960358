package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/sdk"
)

// TestARememberedCommandRunsAsItWasJudged: the person who allowed it for always has not
// seen this line, only one with the same subject.
func TestARememberedCommandRunsAsItWasJudged(t *testing.T) {
	h := start(t, map[string]any{"host": "gateway"})
	input := map[string]any{"command": "cat /proc/self/cmdline"}
	subject := judged(t, h, "exec", input).Approval.Subject
	for remembered, want := range map[bool]string{false: "cat", true: "/"} {
		raw, err := h.CallApproved(sdk.CallApproval{ID: "apr_1", Subject: subject, Remembered: remembered}, "exec", input)
		var r processResult
		if err != nil || json.Unmarshal(raw, &r) != nil || !strings.HasPrefix(r.Output, want) {
			t.Errorf("remembered %v: %s, %v", remembered, raw, err)
		}
	}
}
