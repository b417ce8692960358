package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/sdk"
)

// guardIDs are the names under which the test binary serves as a plugin with
// hooks.
var guardIDs = []string{"guard", "warden"}

// serveGuard is main of such a plugin.
func serveGuard() bool {
	id := filepath.Base(os.Args[0])
	if !slices.Contains(guardIDs, id) {
		return false
	}
	sdk.Serve(guardPlugin(id))
	return true
}

type guardInput struct {
	Do    string `json:"do,omitempty"`
	Trail string `json:"trail,omitempty"`
}

// guardPlugin has hooks that do what the input of a call says, and a tool.
func guardPlugin(id string) *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: id, Version: "1.0.0"}, nil)
	sdk.AddTool(p, sdk.Tool{Name: id + "_own", Description: "Returns its input."},
		func(_ context.Context, _ *sdk.Call, in guardInput) (guardInput, error) { return in, nil })
	sdk.AddTool(p, sdk.Tool{Name: id + "_approval", Description: "Returns what allowed its call."},
		func(_ context.Context, c *sdk.Call, in guardInput) (*sdk.CallApproval, error) { return c.Approval, nil })
	p.BeforeToolCall(func(_ context.Context, c *sdk.ToolCall) (sdk.Verdict, error) {
		if c.Kind == "code_mode_exec" {
			return sdk.Verdict{Block: strings.Contains(string(c.Params), "forbidden"), Reason: ""}, nil
		}
		var in guardInput
		if err := json.Unmarshal(c.Params, &in); err != nil {
			return sdk.Verdict{}, err
		}
		switch in.Do {
		case "block":
			return sdk.Verdict{Block: true, Reason: id + " says no"}, nil
		case "ask":
			return sdk.Verdict{Approval: &sdk.Approval{Title: c.Run.RunID + " " + c.CallID, Severity: "critical"}}, nil
		case "ask about":
			return sdk.Verdict{Approval: &sdk.Approval{Subject: in.Trail}}, nil
		case "garbage":
			return sdk.Verdict{Approval: &sdk.Approval{Severity: "dire"}}, nil
		case "misfit":
			return sdk.Verdict{Params: []int{1}}, nil
		case "panic":
			panic("boom")
		case "crash":
			os.Exit(3)
		}
		in.Trail += " " + id
		return sdk.Verdict{Params: in}, nil
	}, "*")
	p.AfterToolCall(func(_ context.Context, _ *sdk.ToolCall, o sdk.CallOutcome) (any, error) {
		if strings.Contains(string(o.Value), "secret") {
			return "hidden by " + id, nil
		}
		return nil, nil
	})
	return p
}

// guardDir returns a plugin directory in which the test binary plays the guards.
func guardDir(t *testing.T, ids ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, id := range ids {
		manifest := fmt.Sprintf(`{"id": %q, "version": "1.0.0", "protocol": 2, "command": "./%s"}`, id, id)
		if err := os.Mkdir(filepath.Join(dir, id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id, "plugin.json"), []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(self, filepath.Join(dir, id, id)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// told is a program that tells how a call of a tool ends.
func told(tool, input string) string {
	return fmt.Sprintf(`try { return (await tools.%s(%s)).trail ?? "no trail" } catch (e) { return [e.code, e.message] }`, tool, input)
}

func guardTools() []catalog.Tool {
	e := echo("echo")
	e.Parameters = json.RawMessage(`{"type":"object"}`)
	return []catalog.Tool{e, echo("other")}
}

func failedGuard(tool, id string) string {
	return fmt.Sprintf(`["hook_failed","The call of \"%s\" was blocked before execution, because the hook \"plugin %s\" failed."]`, tool, id)
}

// TestPluginsSeeTheirOwnCallsOnly unless the operator allows more.
func TestPluginsSeeTheirOwnCallsOnly(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: guardDir(t, "guard")}, Tools: guardTools()})
	wantValue(t, exec(h, told("echo", `{do: "block"}`)), `"no trail"`)
	wantValue(t, exec(h, told("guard_own", `{do: "block"}`)), `["blocked","The call of \"guard_own\" was blocked before execution: guard says no"]`)
	wantValue(t, exec(h, told("guard_own", `{}`)), `" guard"`)
	wantValue(t, exec(h, `return "forbidden"`), `"forbidden"`)
}

func TestPluginHooks(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	cfg := desk.config(guardTools(), says("first", policy.Verdict{Params: json.RawMessage(`{"trail":"embedder"}`)}, "other"))
	cfg.Plugins.Dir = guardDir(t, "warden", "guard")
	cfg.Plugins.Hooks = map[string][]string{"guard": {"owner:core", "quoin:code_mode:exec"}, "warden": {"other"}}
	h := start(t, cfg)
	for _, tc := range []struct{ name, code, want string }{
		{"rewrites", told("echo", `{}`), `" guard"`},
		{"blocks", told("echo", `{do: "block"}`), `["blocked","The call of \"echo\" was blocked before execution: guard says no"]`},
		{"garbage", told("echo", `{do: "garbage"}`), failedGuard("echo", "guard")},
		{"no object", told("echo", `{do: "misfit"}`), failedGuard("echo", "guard")},
		{"panics", told("echo", `{do: "panic"}`), failedGuard("echo", "guard")},
		{"embedder, then plugins by id", told("other", `{}`), `"embedder guard warden"`},
		{"after", `return await tools.echo({trail: "secret"})`, `"hidden by guard"`},
		{"own tool of another", told("warden_own", `{}`), `" warden"`},
	} {
		t.Run(tc.name, func(t *testing.T) { wantValue(t, exec(h, tc.code), tc.want) })
	}
	t.Run("program", func(t *testing.T) {
		r := exec(h, `return "forbidden"`)
		wantFailure(t, r, codemode.CodeInvalidInput, "", codemode.PhaseHost)
		if !strings.Contains(r.Error, `the hook "plugin guard"`) {
			t.Errorf("got %s", show(r))
		}
	})
	t.Run("asks", func(t *testing.T) {
		done := execLater(h, host.ExecInput{Code: told("echo", `{do: "ask", trail: "x"}`)})
		a := <-desk.asked
		if a.Asked[0].Hook != "plugin guard" || a.Title != a.RunID+" bridge:call:1" || a.Severity != policy.SeverityCritical {
			t.Errorf("asked %+v", a)
		}
		decide(t, h, a.ID, policy.AllowOnce)
		wantValue(t, <-done, `"x"`)
	})
	t.Run("dies", func(t *testing.T) {
		wantValue(t, exec(h, told("echo", `{do: "crash"}`)), failedGuard("echo", "guard"))
		for { // while it comes back calls and programs stay blocked; then it is asked again
			r := exec(h, told("echo", `{}`))
			if string(r.Value) == `" guard"` {
				break
			}
			if said := show(r); !strings.Contains(said, "blocked") || !strings.Contains(said, "plugin guard") {
				t.Fatalf("got %s", said)
			}
		}
	})
}

// TestAMissingGuardBlocks: what an operator relies on and is not there, because it
// was never installed, is refused, or there are no plugins at all, blocks.
func TestAMissingGuardBlocks(t *testing.T) {
	t.Parallel()
	refusedDir := guardDir(t, "guard")
	manifest := filepath.Join(refusedDir, "guard", "plugin.json")
	if err := os.WriteFile(manifest, []byte(`{"id": "guard", "version": "9.9.9", "protocol": 2, "command": "./guard"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"not installed": guardDir(t), "refused": refusedDir, "no plugins": ""} {
		t.Run(name, func(t *testing.T) {
			h := start(t, host.Config{Plugins: host.PluginConfig{Dir: dir, Hooks: map[string][]string{"guard": {"echo"}}}, Tools: guardTools()})
			wantValue(t, exec(h, told("echo", `{}`)), failedGuard("echo", "guard"))
			wantValue(t, exec(h, told("other", `{}`)), `"no trail"`)
		})
	}
	t.Run("name of an owner", func(t *testing.T) {
		_, err := host.New(t.Context(), host.Config{Tools: guardTools(), Plugins: host.PluginConfig{Hooks: map[string][]string{"core": {"*"}}}})
		if err == nil || !strings.Contains(err.Error(), "core") {
			t.Errorf("got %v", err)
		}
	})
}
