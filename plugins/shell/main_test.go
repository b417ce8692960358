package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/shell/confine"
	"github.com/quoinhq/quoin/internal/shell/launch"
	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

// pluginName is what the test binary is called when it is the plugin.
const pluginName = "quoin-shell-test-plugin"

func TestMain(m *testing.M) {
	launch.Main()
	confine.Main()
	if filepath.Base(os.Args[0]) == pluginName {
		main()
		return
	}
	sdktest.Main(m)
}

// start starts the plugin with a configuration as the host hands it over.
func start(t *testing.T, config map[string]any) *sdktest.Harness {
	t.Helper()
	return sdktest.Start(t, newPlugin(), &sdktest.Options{Config: config})
}

func gatewayFull() map[string]any {
	return map[string]any{"host": "gateway", "security": "full", "ask": "off"}
}

func TestExec(t *testing.T) {
	h := start(t, gatewayFull())
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "echo hello; echo trouble >&2; exit 3"})
	if r.Status != "completed" || *r.ExitCode != 3 || r.Output != "hello\ntrouble\n" || r.Cwd == "" {
		t.Errorf("%+v", r)
	}
	h.CallInto(&r, "exec", map[string]any{"command": "echo started; read line; echo got $line", "yieldMs": 10})
	if r.Status != "running" || r.SessionID == "" || r.PID == 0 {
		t.Fatalf("%+v", r)
	}
	var p processResult
	h.CallInto(&p, "process", map[string]any{"action": "kill", "sessionId": r.SessionID})
	if p.Status != "killed" {
		t.Errorf("%+v", p)
	}
}

func TestDefaultsAllowNothing(t *testing.T) {
	h := start(t, map[string]any{"host": "gateway"})
	_, err := h.Call("exec", map[string]any{"command": "echo hello"})
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != codeApproval {
		t.Errorf("%v", err)
	}
	h = start(t, map[string]any{"host": "gateway", "ask": "off"})
	if _, err := h.Call("exec", map[string]any{"command": "echo hello"}); !errors.As(err, &e) || e.Code != codeDenied || !strings.Contains(e.Message, "not allowed") {
		t.Errorf("%v", err)
	}
}

// TestNumbersAndNames are taken as other shells of models take them.
func TestNumbersAndNames(t *testing.T) {
	t.Parallel()
	h := start(t, gatewayFull())
	dir := t.TempDir()
	for _, in := range []map[string]any{{"timeout": 0}, {"timeout": 30.5}, {"yieldMs": 20000.5}, {"yieldMs": nil}, {"cwd": dir}, {"timeout": 604800}} {
		in["command"] = "pwd; echo $HOME $USER $LOGNAME"
		var r processResult
		h.CallInto(&r, "exec", in)
		if r.Status != "completed" || in["cwd"] == dir && !strings.HasPrefix(r.Output, dir+"\n") {
			t.Errorf("%v: %+v", in, r)
		}
		if u, err := user.Current(); err != nil || !strings.HasSuffix(r.Output, fmt.Sprintf("\n%s %s %s\n", u.HomeDir, u.Username, u.Username)) {
			t.Errorf("%v: the user is %+v, %q %v", in, u, r.Output, err)
		}
	}
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "sleep 60", "timeout": 0.3, "yieldMs": 120000})
	if !r.TimedOut {
		t.Errorf("%+v", r)
	}
}

// TestSandboxIsTheDefault runs a command where a configuration says nothing of hosts.
func TestSandboxIsTheDefault(t *testing.T) {
	h := start(t, map[string]any{"security": "full"})
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "echo written > file; cat file"})
	if r.Status != "completed" || r.Host != "sandbox" || r.Output != "written\n" {
		t.Errorf("%+v", r)
	}
}
