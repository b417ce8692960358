package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/host/trajectory"
	"github.com/quoinhq/quoin/internal/hosttest"
	"github.com/quoinhq/quoin/plugins"
)

// pluginDir returns a plugin directory with the example plugins named.
func pluginDir(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		if err := hosttest.Install(dir, n); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestRudePlugin: the host survives every act of a plugin that misbehaves, and so
// does the well-behaved plugin next to it.
func TestRudePlugin(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: pluginDir(t, "rude", "issues")}, DrainTimeout: soon})
	fine := func(t *testing.T) {
		t.Helper()
		wantValue(t, exec(h, `return (await Issues.list({})).total`), `0`)
	}
	fine(t)
	for _, tc := range []struct{ name, code, say string }{
		{"fails", `await Rude.fail({code: "broke", message: "I broke it"})`, "I broke it"},
		{"panics", `await Rude.panic()`, "rude"},
		{"crashes", `await Rude.crash({how: "kill"})`, "rude"},
		{"answers with 100 MB", `await Rude.huge({megabytes: 100})`, ""},
		{"answers with no JSON", `await Rude.garbage()`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := eventually(t, h, tc.code)
			wantFailure(t, r, codemode.CodeInternal, codemode.ReasonNestedTool, codemode.PhaseBridge)
			if !r.Dispatched || !strings.Contains(r.Error, tc.say) {
				t.Errorf("got %s, want dispatched and %q", show(r), tc.say)
			}
			fine(t)
		})
	}
	t.Run("hangs", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		r := h.Exec(ctx, me, host.ExecInput{Code: waitForRude + `await Rude.hang({obey: true})`, Wait: 3 * time.Second})
		wantWaiting(t, r, codemode.ReasonPendingTools)
		fine(t)
	})
	t.Run("floods the log", func(t *testing.T) {
		wantOK(t, h, `await Rude.floodLogs({count: 20000}); return 1`)
		fine(t)
	})
	t.Run("floods progress", func(t *testing.T) {
		wantOK(t, h, `await Rude.floodProgress({count: 20000}); return 1`)
		fine(t)
	})
}

// waitForRude continues once the plugin is back after a crash.
const waitForRude = `
for (;;) {
	try { await Rude.echo(1); break } catch (e) {
		if (!/^plugin_/.test(e.code)) throw e;
		await new Promise(r => setTimeout(r, 20));
	}
}
`

func eventually(t *testing.T, h *host.Host, code string) *host.Result {
	t.Helper()
	return exec(h, waitForRude+code)
}

func wantOK(t *testing.T, h *host.Host, code string) {
	t.Helper()
	if r := eventually(t, h, code); r.Status != host.StatusCompleted {
		t.Errorf("got %s, want completed", show(r))
	}
}

// TestRudeClaims: a plugin that claims what is not its own is refused or gets
// nothing of it, and the plugin it wanted to rob keeps working.
func TestRudeClaims(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{
		"claim-plugin-id", "claim-version", "claim-tool", "claim-namespace", "claim-global", "borrow-tool",
		"no-required-tools", "bad-schema", "huge-description", "configure-refuse", "describe-exit",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := pluginDir(t, "rude", "issues")
			if err := os.WriteFile(filepath.Join(dir, "rude", "rude.mode"), []byte(mode), 0o600); err != nil {
				t.Fatal(err)
			}
			h := start(t, host.Config{Plugins: host.PluginConfig{Dir: dir}})
			wantValue(t, exec(h, `
const { id } = await Issues.create({title: "mine"});
return [id, ALL_TOOLS.filter(t => t.name === "issues_list" && t.sourceName === "issues").length, (await Issues.list({})).total]`), `[1,1,1]`)
			// Whatever a thief calls its tools, the namespace calls its owner's.
			if r := exec(h, `return await Issues.get(1)`); r.Status != host.StatusCompleted || !strings.Contains(string(r.Value), "mine") {
				t.Errorf("got %s, want the owner's answer", show(r))
			}
		})
	}
}

// TestARefusedNamespaceIsSaid: a plugin that runs without its namespaces is listed
// without them, and with the reason.
func TestARefusedNamespaceIsSaid(t *testing.T) {
	t.Parallel()
	dir := pluginDir(t, "rude", "issues")
	if err := os.WriteFile(filepath.Join(dir, "rude", "rude.mode"), []byte("claim-namespace"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range start(t, host.Config{Plugins: host.PluginConfig{Dir: dir}}).Plugins() {
		said := strings.Contains(s.Reason, "is already registered by plugin \"issues\"")
		if rude := s.ID == "rude"; s.State != plugins.StateRunning || rude != said || rude == (len(s.Namespaces) > 0) {
			t.Errorf("%s is %s with %q: %s", s.ID, s.State, s.Namespaces, s.Reason)
		}
	}
}

// TestRudeScopes: a scope that is refused breaks the cells that touch it alone.
func TestRudeScopes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{
		"scope-function", "scope-proto", "scope-empty-key", "scope-separator", "scope-cycle", "scope-foreign-tool",
		"scope-not-json", "scope-array", "scope-wide", "scope-deep", "scope-huge", "scope-error", "scope-panic", "scope-exit",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dir := pluginDir(t, "rude")
			if err := os.WriteFile(filepath.Join(dir, "rude", "rude.mode"), []byte(mode), 0o600); err != nil {
				t.Fatal(err)
			}
			h := start(t, host.Config{Plugins: host.PluginConfig{Dir: dir}})
			r := exec(h, `try { Rude.echo } catch (e) { return [e.name, typeof e.message, /rude/.test(e.message)] }`)
			wantValue(t, r, `["Error","string",true]`)
			wantValue(t, exec(h, `return 1`), `1`)
		})
	}
}

// TestPluginErrorsReachTheProgram: what a plugin says of a failure is data of the
// error that the program catches, and nothing else is.
func TestPluginErrorsReachTheProgram(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: pluginDir(t, "rude")}})
	for _, tc := range []struct{ name, input, want string }{
		{"as before", `{code: "broke", message: "No."}`, `["broke",null,null,{"bytes":3}]`},
		{"may be repeated", `{retry: true}`, `["rude",true,null,{"bytes":3}]`},
		{"no effect", `{effect: "none", retry: true}`, `["rude",true,"none",{"bytes":3}]`},
		{"unknown effect", `{effect: "unknown"}`, `["rude",null,"unknown",{"bytes":3}]`},
		{"done all the same", `{effect: "done"}`, `["rude",null,"done",{"bytes":3}]`},
		{"details that are too long", `{details: 20000}`, `["rude",null,null,null]`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			wantValue(t, exec(h, `try { await Rude.fail(`+tc.input+`) } catch (e) {
				return [e.code, e.retryable ?? null, e.effectStatus ?? null, e.details ?? null] }`), tc.want)
		})
	}
	wantValue(t, exec(h, `try { await Rude.fail({retry: true}) } catch (e) {
		return [e.constructor === Error, e.name, e.message, e.toolId, Object.keys(e)] }`),
		`[true,"Error","No.","quoin:rude:rude_fail",["code","toolId","retryable","details"]]`)
}

// TestACallOfAPluginIsMadeAgain stops the host while a plugin's tool runs. The next
// host makes the call again, with the same key, if the tool says that this is
// harmless; the plugin finds in its storage that it has had it before.
func TestACallOfAPluginIsMadeAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ verb, want string }{
		{"once", `["unknown","interrupted"]`},
		{"onceRead", `[2,true,true]`},
		{"onceSafe", `[2,true,true]`},
	} {
		t.Run(tc.verb, func(t *testing.T) {
			dir, plugins, data := mkdir(t), pluginDir(t, "rude"), t.TempDir()
			newest := func() host.Config {
				return host.Config{Store: openState(t, dir), Plugins: host.PluginConfig{Dir: plugins, DataDir: data}, DrainTimeout: time.Millisecond}
			}
			first, err := newHost(newest())
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			defer stop()
			feed := first.Follow(ctx, host.EventFilter{All: true, OwnHost: true})
			id := wantWaiting(t, first.Exec(context.Background(), me, host.ExecInput{Wait: soon, Code: `
try { const r = await Rude.` + tc.verb + `(); return [r.attempt, r.key.length > 8, r.epoch > 1] } catch (e) { return [e.effectStatus, e.code] }`}), codemode.ReasonPendingTools)
			for e := range feed {
				if e.Kind == trajectory.CallProgress {
					break // the plugin has the call
				}
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			second := start(t, newest())
			wantValue(t, second.Wait(context.Background(), me, id), tc.want)
		})
	}
}

// TestWhatAPluginSaysOfItsToolsIsSeen: output schemas and examples reach programs, in
// descriptions and declarations, and outputs the model.
func TestWhatAPluginSaysOfItsToolsIsSeen(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: pluginDir(t, "rude")}})
	wantValue(t, exec(h, `
const d = await tools.describe("rude_fail"), file = (await API.read("tools/rude_look.d.ts")).content, example = (await API.read("tools/rude_fail.d.ts")).content;
const o = (await tools.describe("rude_look")).output;
return [o.type, o.properties.dir.description, o.required.includes("pid"), d.examples[0].input.message,
	/dir: string/.test(file), /working directory/.test(file), /"No\./.test(example)]`),
		`["object","working directory",true,"No.",true,true,true]`)
	definition, _ := h.Catalog(me).Definitions()
	if text := definition.Description; !strings.Contains(text, "rude_look") || !strings.Contains(text, "dir: string") {
		t.Errorf("the prompt does not say what rude_look returns:\n%s", text)
	}
}
