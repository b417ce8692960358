package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/sdk"
)

const bundleID = "bundle"

// serveBundle is main of the plugin that tests bundle.
func serveBundle() bool {
	if filepath.Base(os.Args[0]) != bundleID {
		return false
	}
	sdk.Serve(bundlePlugin())
	return true
}

type bundleInput struct {
	Command string `json:"command"`
}

type bundleOutput struct {
	Ran      string            `json:"ran"`
	Approval *sdk.CallApproval `json:"approval,omitempty"`
	Config   string            `json:"config,omitempty"`
}

// bundlePlugin has a tool that runs what its hook lets pass, and a namespace.
func bundlePlugin() *sdk.Plugin {
	p := sdk.New(sdk.Info{ID: bundleID, Version: "1.0.0"}, nil)
	var config string
	p.OnConfigure(func(_ context.Context, c sdk.Config) error {
		config = string(c.JSON)
		return nil
	})
	run := sdk.AddTool(p, sdk.Tool{Name: "run", Description: "Runs."}, func(_ context.Context, c *sdk.Call, in bundleInput) (bundleOutput, error) {
		return bundleOutput{in.Command, c.Approval, config}, nil
	})
	p.BeforeToolCall(func(_ context.Context, c *sdk.ToolCall) (sdk.Verdict, error) {
		switch {
		case strings.Contains(string(c.Params), "rm"):
			return sdk.Verdict{Block: true, Reason: "no rm"}, nil
		case strings.Contains(string(c.Params), "ask"):
			return sdk.Verdict{Approval: &sdk.Approval{Subject: string(c.Params)}}, nil
		}
		return sdk.Verdict{}, nil
	})
	p.AddNamespace(sdk.Namespace{ID: "bundle", Global: "Bundle", Description: "Runs.", Scope: sdk.Scope{"run": sdk.Verb(run)}})
	return p
}

// bundled is a configuration with the plugin that tests bundle.
func bundled(t *testing.T, cfg host.Config) host.Config {
	cfg.Plugins.Bundled = []host.BundledPlugin{{ID: bundleID, Dir: filepath.Join(guardDir(t, bundleID), bundleID)}}
	return cfg
}

const runRM = `try { return (await %s).ran } catch (e) { return [e.code, e.message] }`

// TestABundledPluginIsOfTheOwnerCore, with its tools, its namespace and its hook, which
// sees calls of its own tools alone.
func TestABundledPluginIsOfTheOwnerCore(t *testing.T) {
	t.Parallel()
	h := start(t, bundled(t, host.Config{Tools: guardTools(), Plugins: host.PluginConfig{Config: map[string]json.RawMessage{bundleID: []byte(`{"a":1}`)}}}))
	wantValue(t, exec(h, `return [ALL_TOOLS.map((t) => t.id).sort(), typeof Bundle.run]`), `[["quoin:core:echo","quoin:core:other","quoin:core:run"],"function"]`)
	blocked := `["blocked","The call of \"run\" was blocked before execution: no rm"]`
	for _, call := range []string{`tools.run({command: "rm"})`, `tools.call("quoin:core:run", {command: "rm"})`, `tools.call("run", {command: "rm"})`, `Bundle.run({command: "rm"})`} {
		wantValue(t, exec(h, strings.Replace(runRM, "%s", call, 1)), blocked)
	}
	wantValue(t, exec(h, `return await Bundle.run({command: "ls"})`), `{"ran":"ls","config":"{\"a\":1}"}`)
	wantValue(t, exec(h, `return await tools.echo({command: "rm"})`), `{"command":"rm"}`)
	if r := h.CallTool(t.Context(), me, "quoin:core:run", []byte(`{"command":"rm"}`)); !strings.Contains(r.Error, "no rm") {
		t.Errorf("got %s", show(r))
	}
	if list := h.Plugins(); len(list) != 1 || list[0].ID != bundleID || list[0].State != plugins.StateRunning {
		t.Errorf("plugins %+v", list)
	}
}

// TestAHookThatIsBundledHasTime: it may ask another machine.
func TestAHookThatIsBundledHasTime(t *testing.T) {
	t.Parallel()
	h := start(t, bundled(t, host.Config{Tools: guardTools(), HookTimeout: time.Nanosecond}))
	wantValue(t, exec(h, `return (await Bundle.run({command: "ls"})).ran`), `"ls"`)
}

// TestABundledPluginIsToldWhatAllowedItsCall by a person, whom its own hook has asked.
func TestABundledPluginIsToldWhatAllowedItsCall(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	h := start(t, bundled(t, desk.config(nil)))
	done := execLater(h, host.ExecInput{Code: `return (await tools.run({command: "ask"})).approval`})
	a := <-desk.asked
	if a.ToolID != "quoin:core:run" || a.Asked[0].Hook != "plugin bundle" {
		t.Errorf("asked %+v", a)
	}
	decide(t, h, a.ID, policy.AllowOnce)
	wantValue(t, <-done, wantApproval(a.ID, string(a.Input), false))
}

// TestNothingTakesThePlaceOfABundledPlugin: neither a plugin of the directory, nor one in
// development, nor a tool of the embedder.
func TestNothingTakesThePlaceOfABundledPlugin(t *testing.T) {
	t.Parallel()
	cfg := bundled(t, host.Config{})
	cfg.Plugins.Dir = guardDir(t, bundleID, "guard")
	cfg.Plugins.Watch = true
	h := start(t, cfg)
	list := h.Plugins()
	if len(list) != 2 || list[0].Dir != cfg.Plugins.Bundled[0].Dir {
		t.Errorf("plugins %+v", list)
	}
	if _, err := h.Develop(t.Context(), plugins.Find(filepath.Join(cfg.Plugins.Dir, bundleID))); err == nil || !strings.Contains(err.Error(), "give yours another id") {
		t.Errorf("Develop: %v", err)
	}
	if err := h.ReloadPlugin(t.Context(), bundleID); err != nil {
		t.Error(err)
	}
	wantValue(t, exec(h, `return (await tools.run({command: "ls"})).ran`), `"ls"`)

	own := counted("run", new([]catalog.Invocation))
	_, err := newHost(bundled(t, host.Config{Tools: []catalog.Tool{own}}))
	if err == nil || !strings.Contains(err.Error(), "quoin:core:run is also one of the bundled plugin bundle") {
		t.Errorf("New: %v", err)
	}
	own.Source = catalog.SourceQuoin
	if _, err := h.ModelTools(t.Context(), me, []catalog.Tool{own.WithDefaults()}, host.ModelToolsOptions{}); err == nil || !strings.Contains(err.Error(), "bundled plugin") {
		t.Errorf("ModelTools: %v", err)
	}
}

// TestAMissingBundledPlugin is reported, and does not keep the host from starting.
func TestAMissingBundledPlugin(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Plugins: host.PluginConfig{Bundled: []host.BundledPlugin{{ID: "shell", Dir: filepath.Join(t.TempDir(), "shell")}}}})
	list := h.Plugins()
	if len(list) != 1 || list[0].State != plugins.StateDisabled || !strings.Contains(list[0].Reason, "plugin.json") {
		t.Errorf("plugins %+v", list)
	}
	if _, err := newHost(host.Config{Plugins: host.PluginConfig{Bundled: []host.BundledPlugin{{ID: "shell", Dir: "/x/other"}}}}); err == nil {
		t.Error("a folder of another name was taken")
	}
}
