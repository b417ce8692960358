package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
)

// TestAgentSettings: an agent's own settings hold for its runs, the host's settings for all
// other runs, also after a suspension.
func TestAgentSettings(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{
		Settings: host.Settings{MaxOutput: 4096},
		Agents: map[string]host.Settings{
			"small": {MaxOutput: 1024, Languages: []string{"typescript"}, OnOutputLimit: codemode.OutputTruncate},
			"off":   {Disabled: true},
			"slow":  {Timeout: time.Minute},
		},
	})
	run := func(agent, language, code string) *host.Result {
		return h.Exec(context.Background(), host.Session{AgentID: agent}, host.ExecInput{Code: code, Language: language})
	}
	wantValue(t, run("other", "", `return "x".repeat(2000).length`), "2000")
	wantFailure(t, run("other", "", `return "x".repeat(5000)`), codemode.CodeOutputLimit, "", codemode.PhaseGuest)
	wantFailure(t, run("off", "", `return 1`), codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput)
	wantFailure(t, run("small", "", `return 1`), codemode.CodeInvalidInput, codemode.ReasonUnsupportedLanguage, codemode.PhaseInput)
	if r := run("small", "typescript", `return "x".repeat(2000)`); r.Status != host.StatusCompleted || len(r.Value) > 1024 {
		t.Errorf("got %s, want a marker of at most 1024 bytes", show(r))
	}
	id := wantWaiting(t, run("small", "typescript", `await yield_control(); return "x".repeat(2000)`), codemode.ReasonYield)
	if r := h.Wait(context.Background(), host.Session{AgentID: "small"}, id); r.Status != host.StatusCompleted || len(r.Value) > 1024 {
		t.Errorf("got %s, want a marker of at most 1024 bytes", show(r))
	}
}
