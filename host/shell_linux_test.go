package host_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/policy"
	"github.com/quoinhq/quoin/internal/hosttest"
)

// withShell adds the shell plugin. Its commands run next to it in the directory that is
// returned.
func withShell(t *testing.T, cfg host.Config, settings map[string]any) (host.Config, string) {
	t.Helper()
	dir, work := t.TempDir(), t.TempDir()
	if err := hosttest.InstallBundled(dir, "shell"); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"host": "gateway", "workdir": work}
	for name, v := range settings {
		all[name] = v
	}
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Plugins.Bundled = []host.BundledPlugin{{ID: "shell", Dir: filepath.Join(dir, "shell")}}
	cfg.Plugins.Config = map[string]json.RawMessage{"shell": raw}
	return cfg, work
}

// routes are the ways from a program to a command, each with COMMAND for it as a text.
var routes = []string{
	`tools.exec({command: COMMAND})`,
	`tools.call("exec", {command: COMMAND})`,
	`tools.call("quoin:core:exec", {command: COMMAND})`,
	`tools.call("quoin:core:exec", {command: COMMAND, security: "full", ask: "off"})`,
	`tools.exec({command: COMMAND, elevated: true})`,
	`tools.exec({command: COMMAND, background: true})`,
	`tools.exec({command: COMMAND, pty: true, host: "gateway"})`,
	`tools.exec({command: COMMAND, host: "node", node: "far"})`,
	`tools.exec({command: "echo", COMMAND: COMMAND, Command: COMMAND})`,
	`tools.exec(JSON.parse('{"command":"echo","__proto__":{"command":' + JSON.stringify(JSON.stringify(COMMAND)).slice(1, -1) + '}}'))`,
	`tools.exec({command: "env " + COMMAND})`,
	`tools.exec({command: "echo $(" + COMMAND + ")"})`,
	`tools.exec({command: "echo a; " + COMMAND})`,
	`tools.exec({command: "sh -c '" + COMMAND + "'"})`,
	`tools.exec({command: "echo", env: {BASH_ENV: COMMAND, "BASH_FUNC_echo%%": "() { " + COMMAND + "; }"}})`,
	`Shell.run(COMMAND)`,
	`Shell.run(COMMAND, {security: "full"})`,
	`Shell.run({command: COMMAND})`,
	`Shell.start(COMMAND)`,
	"Shell.sh([COMMAND])",
	"Shell.sh`touch marker`",
	"Shell.sh`${\"touch\"} marker`",
	"Shell.sh(Object.assign([COMMAND], {raw: [COMMAND]}))",
	`Shell.get("x").then((p) => p.write(COMMAND))`,
	`tools.process({action: "write", sessionId: "x", data: COMMAND})`,
}

// TestADeniedCommandRunsByNoRoute: what is not on the allow-list does not run, however a
// program asks for it, and neither when the model or an MCP client calls the tool.
func TestADeniedCommandRunsByNoRoute(t *testing.T) {
	t.Parallel()
	cfg, work := withShell(t, host.Config{}, map[string]any{"allow": []string{"echo"}, "ask": "off"})
	h := start(t, cfg)
	ran := func() bool {
		_, err := os.Stat(filepath.Join(work, "marker"))
		return !errors.Is(err, os.ErrNotExist)
	}
	wantValue(t, exec(h, `return (await Shell.run("echo works")).output`), `"works\n"`)
	for _, route := range routes {
		r := exec(h, `const r = await `+strings.ReplaceAll(route, "COMMAND", `"touch marker"`)+`; return r.output`)
		if ran() {
			t.Fatalf("%s ran the command: %s", route, show(r))
		}
		if r.Status != host.StatusFailed && strings.TrimSpace(string(r.Value)) != `"\n"` { // an echo of nothing
			t.Errorf("%s: %s, want a failure", route, show(r))
		}
	}
	for _, input := range []string{`{"command":"touch marker"}`, `{"command":"touch marker","security":"full","ask":"off"}`} {
		if r := h.CallTool(t.Context(), me, "quoin:core:exec", json.RawMessage(input)); r.Status != host.StatusFailed || ran() {
			t.Errorf("a direct call with %s: %s", input, show(r))
		}
	}
}

// TestADecisionAllowsOneCommand: a decision for always holds for the effective command, and
// an edited input is judged as any other.
func TestADecisionAllowsOneCommand(t *testing.T) {
	t.Parallel()
	desk := newDesk()
	cfg, work := withShell(t, desk.config(nil), map[string]any{"allow": []string{"echo"}})
	h := start(t, cfg)
	run := func(command string) string {
		return `return (await Shell.run(` + strconv.Quote(command) + `)).exitCode`
	}

	done := execLater(h, host.ExecInput{Code: run("env touch a")})
	a := <-desk.asked
	if !strings.HasPrefix(a.Description, "Command: env touch a\n") || a.Asked[0].Hook != "plugin shell" {
		t.Errorf("asked %+v", a)
	}
	decide(t, h, a.ID, policy.AllowAlways)
	wantValue(t, <-done, `0`)
	wantValue(t, exec(h, run("env touch a")), `0`)
	for _, other := range []string{"env touch b", "env rm a", "touch a b", "nice touch c"} {
		done := execLater(h, host.ExecInput{Code: run(other)})
		a := <-desk.asked
		if !strings.Contains(a.Description, "Command: "+other+"\n") {
			t.Errorf("%s: asked %q", other, a.Description)
		}
		decide(t, h, a.ID, policy.Deny)
		if r := <-done; r.Status != host.StatusFailed {
			t.Errorf("%s ran: %s", other, show(r))
		}
	}

	done = execLater(h, host.ExecInput{Code: run("touch b")})
	if _, err := h.Approvals().AllowEdited(t.Context(), (<-desk.asked).ID, json.RawMessage(`{"command":"touch c"}`), "ada"); err != nil {
		t.Fatal(err)
	}
	wantValue(t, <-done, `0`)
	done = execLater(h, host.ExecInput{Code: run("touch d")})
	if _, err := h.Approvals().AllowEdited(t.Context(), (<-desk.asked).ID, json.RawMessage(`{"command":"touch `+strings.Repeat("d", 5000)+`"}`), "ada"); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.Status != host.StatusFailed || !strings.Contains(r.Error, "blocked before execution") {
		t.Errorf("an edited command that is too long to be shown: %s", show(r))
	}
	entries, err := os.ReadDir(work)
	if err != nil || len(entries) != 2 || entries[0].Name() != "a" || entries[1].Name() != "c" {
		t.Errorf("%v, %v; want a and c", entries, err)
	}
}

// awaitEnd returns when a process has ended.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	if err := hosttest.AwaitExit(pid); err != nil {
		t.Fatal(err)
	}
}

// TestProcessesEndWithTheirPlugin, also when that is killed, and the next call says so.
func TestProcessesEndWithTheirPlugin(t *testing.T) {
	t.Parallel()
	cfg, _ := withShell(t, host.Config{}, map[string]any{"security": "full"})
	h := start(t, cfg)
	r := exec(h, `const p = await Shell.start("setsid sh -c 'trap \"\" TERM; echo $$; sleep 1000' & wait");
		let out = p.output; while (!out.includes("\n")) out += (await p.poll({waitMs: 60000})).output;
		return [p.sessionId, p.pid, Number(out)]`)
	var got []any
	if err := json.Unmarshal(r.Value, &got); err != nil || len(got) != 3 {
		t.Fatalf("%v: %s", err, show(r))
	}
	plugin, err := strconv.Atoi(h.Plugins()[0].PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(plugin, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, pid := range got[1:] {
		awaitEnd(t, int(pid.(float64)))
	}
	for { // while the plugin comes back calls fail, and are not made
		r := exec(h, `try { const p = await Shell.get(`+strconv.Quote(got[0].(string))+`); return [p.status, p.reason] } catch (e) { return [e.code] }`)
		if strings.Contains(string(r.Value), "killed") {
			if !strings.Contains(string(r.Value), "plugin") {
				t.Errorf("the next call does not say why: %s", show(r))
			}
			return
		}
		if r.Status != host.StatusCompleted || strings.Contains(string(r.Value), "running") {
			t.Fatalf("the next call says %s", show(r))
		}
	}
}
