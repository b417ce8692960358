package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/quoinhq/quoin/host"
)

// parentOf is the parent of a process.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	var state string
	var parent int
	if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
		t.Fatal(err)
	}
	return parent
}

// TestKilledPlugin: kill -9 of the plugin leaves nothing of its commands, and the next
// process of the plugin says what has become of them.
func TestKilledPlugin(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "plugins")
	if err := os.MkdirAll(filepath.Join(dir, "shell"), 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(executable)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(manifest), "./shell", "./"+pluginName, 1)
	for name, b := range map[string][]byte{pluginName: program, "plugin.json": []byte(text)} {
		if err := os.WriteFile(filepath.Join(dir, "shell", name), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config, err := json.Marshal(gatewayFull())
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(t.Context(), host.Config{
		Settings: host.Settings{Isolation: host.IsolationBestEffort}, // this executable is the guest, with cgo under the race detector
		Plugins:  host.PluginConfig{Dir: dir, DataDir: t.TempDir(), Config: map[string]json.RawMessage{"shell": config}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	me := host.Session{SessionID: "s"}
	r := h.Exec(t.Context(), me, host.ExecInput{Code: `return await Shell.start("(setsid sleep 600 &) ; sleep 600")`})
	var p processResult
	if err := json.Unmarshal(r.Value, &p); err != nil || p.PID == 0 {
		t.Fatalf("%s, %v, %v", r.Value, r.Error, err)
	}
	supervisor := parentOf(t, p.PID)
	if err := syscall.Kill(parentOf(t, supervisor), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{p.PID, supervisor} {
		waitFor(t, func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
			return os.IsNotExist(err)
		})
	}
	code := fmt.Sprintf(`const r = await Shell.get(%q); return [r.status, r.reason]`, p.SessionID)
	waitFor(t, func() bool { // until the host has started the plugin again
		r = h.Exec(t.Context(), me, host.ExecInput{Code: code})
		return r.Status == host.StatusCompleted
	})
	if want := fmt.Sprintf("[%q,%q]", "killed", lostRunning); string(r.Value) != want {
		t.Errorf("%s, want %s", r.Value, want)
	}
}
