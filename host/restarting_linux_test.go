package host_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
	"github.com/quoinhq/quoin/namespaces"
	"github.com/quoinhq/quoin/plugins"
	"github.com/quoinhq/quoin/plugins/protocol"
)

// killPlugin kills the process of the only plugin, and returns when the host knows.
func killPlugin(t *testing.T, h *host.Host) {
	t.Helper()
	is := h.Plugins()[0].PID
	pid, err := strconv.Atoi(is)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
	for st := h.Plugins()[0]; st.State == plugins.StateRunning && st.PID == is; st = h.Plugins()[0] {
		runtime.Gosched()
	}
}

// TestARunThatStartsWhileItsPluginRestarts gets the namespace once the plugin is back.
func TestARunThatStartsWhileItsPluginRestarts(t *testing.T) {
	t.Parallel()
	killed := func() *host.Host { // once, since the pauses before restarts grow
		h := start(t, host.Config{Plugins: host.PluginConfig{Dir: pluginDir(t, "issues")}})
		killPlugin(t, h)
		return h
	}
	wantValue(t, exec(killed(), `return Array.isArray((await Issues.list()).items)`), `true`)
	h := killed()
	id := wantWaiting(t, exec(h, `await yield_control(); return Array.isArray((await Issues.list()).items)`), codemode.ReasonYield)
	wantValue(t, h.Wait(context.Background(), me, id), `true`)
}

// TestAPluginThatIsNotUpYetHasItsOwnSentence: a run without the names of a plugin that has
// not started hears that they may come, and a run from before the start that they have.
func TestAPluginThatIsNotUpYetHasItsOwnSentence(t *testing.T) {
	t.Parallel()
	dir := pluginDir(t, "issues")
	program := filepath.Join(dir, "issues", "issues")
	if err := os.Rename(program, program+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n[ -e "+dir+"/go ] && exec "+program+".real\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := host.Config{Plugins: host.PluginConfig{Dir: dir}}
	h := start(t, c)
	const touch = `return (await Issues.list()).items.length`
	wantMessage(t, exec(h, touch), "It may be of a plugin that is still starting (issues): then run the program again in a few seconds.")
	id := wantWaiting(t, exec(h, `await yield_control(); `+touch), codemode.ReasonYield)
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, spaces := h.Seen(me); len(spaces) == 0; _, spaces = h.Seen(me) { // a moment after the plugin runs
		runtime.Gosched()
	}
	wantMessage(t, h.Wait(t.Context(), me, id), "Issues is there now, and was not when this program started. Run the program again.")
}

// wantMessage fails the test unless a program has failed with a text.
func wantMessage(t *testing.T, r *host.Result, want string) {
	t.Helper()
	if r.Status != host.StatusFailed || !strings.Contains(r.Error, want) {
		t.Errorf("got %s, want %q", show(r), want)
	}
}

// TestACallWhoseHookWasKilled waits for the plugin of the hook, and is made.
func TestACallWhoseHookWasKilled(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Plugins: host.PluginConfig{Dir: guardDir(t, "guard"), Hooks: map[string][]string{"guard": {"echo"}}}, Tools: guardTools()})
	wantValue(t, exec(h, told("echo", `{}`)), `" guard"`)
	killPlugin(t, h)
	wantValue(t, exec(h, told("echo", `{}`)), `" guard"`)
}

// TestAScopeThatWasNotReadyIsAskedForAgain: a program that met a plugin for too long away may
// continue, and a later touch of the namespace finds the plugin.
func TestAScopeThatWasNotReadyIsAskedForAgain(t *testing.T) {
	t.Parallel()
	reg := notes("notes_get")
	content := reg.CreateScope
	var back atomic.Bool
	reg.CreateScope = func(ctx context.Context, rc namespaces.RunContext) (any, error) {
		if !back.Load() {
			return nil, protocol.NewError(protocol.KindProcess, protocol.CodeRestarting, "plugin notes is being restarted: it died")
		}
		return content(ctx, rc)
	}
	h := start(t, host.Config{Tools: []catalog.Tool{owned("notes_get", "notes")}, Namespaces: []namespaces.Registration{reg}})
	id := wantWaiting(t, exec(h, `
let first; try { Notes.who } catch (e) { first = [e.code, e.effectStatus, e.retryable] }
await yield_control();
return [first, Notes.who, await Notes.get({id: 1})]`), codemode.ReasonYield)
	back.Store(true)
	wantValue(t, h.Wait(context.Background(), me, id), `[["plugin_restarting","none",true],"session",{"id":1}]`)
}
