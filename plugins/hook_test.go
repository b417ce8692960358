//go:build linux

package plugins

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/quoinhq/quoin/plugins/protocol"
)

var testToolCall = protocol.ToolCall{
	Kind: "tool", ToolID: "quoin:other:t", Source: "quoin", Owner: "other", ToolName: "t",
	Params: json.RawMessage(`{"n":1}`), Run: protocol.RunContext(testRun), CallID: "c1",
}

func TestHooksOfAPlugin(t *testing.T) {
	t.Parallel()
	p := startRole(t, "hooks good", testOptions(t))
	if d := p.Describe(); !d.BeforeToolCall || !d.AfterToolCall || len(d.HookTools) != 2 {
		t.Errorf("capabilities %+v", d.Capabilities)
	}
	v, err := p.BeforeToolCall(t.Context(), testToolCall)
	if err != nil || string(v.Params) != `{"text":"{\"n\":1}"}` || v.Approval == nil || v.Approval.Title != "quoin:other:t" || v.Approval.Timeout != time.Minute {
		t.Errorf("got %+v, %v", v, err)
	}
	value, err := p.AfterToolCall(t.Context(), testToolCall, protocol.CallOutcome{Status: "ok", Value: json.RawMessage(`1`)})
	if err != nil || string(value) != `{"text":"replaced 1"}` {
		t.Errorf("got %s, %v", value, err)
	}
	_, err = p.AfterToolCall(t.Context(), testToolCall, protocol.CallOutcome{Status: "error"})
	wantError(t, err, protocol.KindTool, protocol.CodeToolError, "hook after t", "not ok")
}

// TestFailuresOfHooks: every one is an error that names what happened.
func TestFailuresOfHooks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		role string
		kind protocol.Kind
		code string
		say  string
	}{
		{"hooks panic", protocol.KindPlugin, protocol.CodePanic, "panicked: boom"},
		{"hooks fail", protocol.KindTool, protocol.CodeToolError, "no idea"},
		{"hooks crash", protocol.KindProcess, protocol.CodeCrashed, "plugin fix died during its hook before t"},
		{"hooks channel", protocol.KindPlugin, protocol.CodeInvalidOutput, "without a JSON form"},
		{"good", protocol.KindInput, protocol.CodeUnknownHook, "has no hook before tool calls"},
		{"raw hook-claim", protocol.KindInput, protocol.CodeUnknownHook, "no hooks"},
	} {
		t.Run(tc.role, func(t *testing.T) {
			p := startRole(t, tc.role, testOptions(t))
			_, err := p.BeforeToolCall(t.Context(), testToolCall)
			wantError(t, err, tc.kind, tc.code, tc.say)
		})
	}
	t.Run("hang", func(t *testing.T) {
		o := testOptions(t)
		o.CallTimeout = 20 * time.Millisecond
		p := startRole(t, "hooks hang", o)
		_, err := p.BeforeToolCall(t.Context(), testToolCall)
		wantError(t, err, protocol.KindTimeout, protocol.CodeTimeout, "fix", "hook before t")
	})
}

func TestClaimsOfHooksAreChecked(t *testing.T) {
	t.Parallel()
	for role, say := range map[string]string{
		"raw hook-tools": "has no hook", "raw hook-patterns": "limit is 64", "raw hook-pattern": "printable",
	} {
		t.Run(role, func(t *testing.T) {
			if err := startFails(t, role, testOptions(t)); !err.Refused {
				t.Errorf("%v: another attempt may succeed", err)
			} else {
				wantParts(t, err.Error(), say)
			}
		})
	}
}

// TestHooksOfASupervisor: they lead to the live process, and without one to an
// error that names the plugin.
func TestHooksOfASupervisor(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	install(t, dir, "guard", "hooks good")
	install(t, dir, "plain", "good")
	s := supervise(t, dir, SupervisorOptions{})
	hooks := s.Hooks()
	if len(hooks) != 1 || hooks[0].PluginID != "guard" || !hooks[0].AfterToolCall {
		t.Fatalf("hooks %+v", hooks)
	}
	if v, err := s.BeforeToolCall(t.Context(), "guard", testToolCall); err != nil || v.Approval == nil {
		t.Errorf("got %+v, %v", v, err)
	}
	if v, err := s.AfterToolCall(t.Context(), "guard", testToolCall, protocol.CallOutcome{Status: "ok", Value: json.RawMessage(`1`)}); err != nil || v == nil {
		t.Errorf("got %s, %v", v, err)
	}
	_, err := s.BeforeToolCall(t.Context(), "nobody", testToolCall)
	wantError(t, err, protocol.KindProcess, protocol.CodeStopped, `"nobody"`)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = s.BeforeToolCall(t.Context(), "guard", testToolCall)
	wantError(t, err, protocol.KindProcess, protocol.CodeStopped, "guard")
	_, err = s.AfterToolCall(t.Context(), "guard", testToolCall, protocol.CallOutcome{})
	wantError(t, err, protocol.KindProcess, protocol.CodeStopped, "guard")
	if len(s.Hooks()) != 0 {
		t.Error("a closed supervisor offers hooks")
	}
}
