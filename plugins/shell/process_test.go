package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/internal/pluginstorage"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

// do calls process and returns its answer.
func do(t *testing.T, h *sdktest.Harness, action, id string, more ...any) processAnswer {
	t.Helper()
	in := map[string]any{"action": action, "sessionId": id}
	for i := 0; i < len(more); i += 2 {
		in[more[i].(string)] = more[i+1]
	}
	var a processAnswer
	h.CallInto(&a, "process", in)
	return a
}

// pollFor polls until the output has a text.
func pollFor(t *testing.T, h *sdktest.Harness, id, text string) {
	t.Helper()
	var seen strings.Builder
	for {
		a := do(t, h, "poll", id, "waitMs", 60_000)
		seen.WriteString(a.Output)
		switch {
		case strings.Contains(seen.String(), text):
			return
		case a.Status != "running" || a.Output == "":
			t.Fatalf("%s without %q: %q", a.Status, text, seen.String())
		}
	}
}

// TestEditor writes a file with vi.
func TestEditor(t *testing.T) {
	if _, err := os.Stat("/usr/bin/vi"); err != nil {
		t.Skip("this machine has no vi")
	}
	h := start(t, gatewayFull())
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "vi -u NONE note.txt", "pty": true, "background": true})
	if !strings.Contains(r.Output, "note.txt") { // a busy machine has it in the answer of exec, and a poll shows what is new
		pollFor(t, h, r.SessionID, "note.txt")
	}
	do(t, h, "send-keys", r.SessionID, "keys", []string{"i", "first line", "Enter", "second line", "Escape"})
	do(t, h, "send-keys", r.SessionID, "keys", []string{":wq", "Enter"})
	if a := do(t, h, "poll", r.SessionID, "until", "end"); a.Status != "completed" || *a.ExitCode != 0 {
		t.Fatalf("%+v", a)
	}
	b, err := os.ReadFile(filepath.Join(r.Cwd, "note.txt"))
	if err != nil || string(b) != "first line\nsecond line\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestPassword answers a question for a password, which the terminal does not show.
func TestPassword(t *testing.T) {
	h := start(t, gatewayFull())
	var r processResult
	h.CallInto(&r, "exec", map[string]any{
		"command": `stty -echo; printf 'Password: '; read -r p; stty echo; [ "$p" = secret ] && echo; echo welcome`, "pty": true, "background": true,
	})
	if !strings.Contains(r.Output, "Password: ") {
		pollFor(t, h, r.SessionID, "Password: ")
	}
	do(t, h, "submit", r.SessionID, "data", "secret")
	do(t, h, "poll", r.SessionID, "until", "end")
	if a := do(t, h, "log", r.SessionID); a.Output != "Password: \nwelcome\n" || *a.Lines != 2 {
		t.Errorf("%q", a.Output)
	}
}

func TestTerminalSize(t *testing.T) {
	h := start(t, gatewayFull())
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "stty size; read -r go; stty size", "pty": true, "background": true})
	do(t, h, "resize", r.SessionID, "columns", 77, "rows", 33)
	do(t, h, "submit", r.SessionID)
	if a := do(t, h, "poll", r.SessionID, "until", "end"); !strings.Contains(a.Output, "33 77") {
		t.Errorf("%+v", a)
	}
	h.CallInto(&r, "exec", map[string]any{"command": "cat", "background": true})
	if _, err := h.Call("process", map[string]any{"action": "resize", "sessionId": r.SessionID, "columns": 80, "rows": 24}); code(err) != "no_terminal" {
		t.Errorf("%v", err)
	}
}

// TestMuchOutput is kept in a head and a tail, and fits an answer.
func TestMuchOutput(t *testing.T) {
	h := start(t, with(gatewayFull(), "outputBytes", 10_000))
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "echo first; yes 'äöü' | head -c 30000000; echo; echo last", "yieldMs": 120_000})
	if r.Status != "completed" || !strings.HasPrefix(r.Output, "first\n") || !strings.HasSuffix(r.Output, "\nlast\n") || len(r.Output) > 10_100 {
		t.Errorf("%s, %d bytes", r.Status, len(r.Output))
	}
	if r.OmittedBytes < 29_000_000 || strings.ContainsRune(r.Output, '\uFFFD') || !strings.Contains(r.Output, "bytes are left out") {
		t.Errorf("%d bytes are left out", r.OmittedBytes)
	}
	h.CallInto(&r, "exec", map[string]any{"command": "head -c 5000 /dev/urandom", "yieldMs": 120_000})
	if r.Status != "completed" || strings.ContainsAny(r.Output, "\x00\x1b") {
		t.Errorf("%q", r.Output)
	}
}

// TestTimeoutKillsTheTree with what has left its session.
func TestTimeoutKillsTheTree(t *testing.T) {
	h := start(t, gatewayFull())
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "(setsid sleep 600 & echo $!); trap '' TERM; sleep 600", "timeout": 1, "yieldMs": 120_000})
	if r.Status != "failed" || !r.TimedOut || !strings.Contains(r.Reason, "timeout of 1s") || r.Signal != "SIGKILL" {
		t.Errorf("%+v", r)
	}
	pid := strings.TrimSpace(r.Output)
	if _, err := os.Stat("/proc/" + pid); pid == "" || err == nil {
		t.Errorf("%q runs on", pid)
	}
}

// TestGivenUpCall takes its command along.
func TestGivenUpCall(t *testing.T) {
	h := start(t, gatewayFull())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, _, err := h.CallProgress(ctx, "exec", map[string]any{"command": "touch started; sleep 600", "yieldMs": 120_000})
		done <- err
	}()
	var all processAnswer
	for len(all.Processes) == 0 {
		h.CallInto(&all, "process", map[string]any{"action": "list"})
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("the call did not end")
	}
	if a := do(t, h, "poll", all.Processes[0].SessionID, "until", "end"); a.Status != "killed" {
		t.Errorf("%+v", a)
	}
}

// TestProgress shows people who watch all of the output, and which process a call waits for.
func TestProgress(t *testing.T) {
	h := start(t, gatewayFull())
	_, shown, err := h.CallProgress(t.Context(), "exec", map[string]any{"command": "echo one; sleep 0.3; echo two", "yieldMs": 120_000})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	var p progress
	for _, raw := range shown {
		if err := json.Unmarshal(raw, &p); err != nil || p.SessionID == "" {
			t.Fatalf("%s, %v", raw, err)
		}
		all.WriteString(p.Output)
	}
	if all.String() != "one\ntwo\n" || p.Bytes != 8 {
		t.Errorf("%q", shown)
	}
	wait := map[string]any{"action": "poll", "sessionId": p.SessionID, "until": "end"}
	_, shown, err = h.CallProgress(t.Context(), "process", wait)
	if want := `{"done":0,"total":0,"message":"waits for process ` + p.SessionID + `"}`; err != nil || len(shown) != 1 || string(shown[0]) != want {
		t.Errorf("a wait says %s, %v", shown, err)
	}
}

// TestPluginStopsWithProcesses: they are killed, and the next process of the plugin says
// so.
func TestPluginStopsWithProcesses(t *testing.T) {
	storage, dir := &pluginstorage.Memory{}, t.TempDir()
	options := &sdktest.Options{Config: gatewayFull(), Storage: storage, DataDir: dir}
	var r, ended processResult
	t.Run("before", func(t *testing.T) {
		h := sdktest.Start(t, newPlugin(), options)
		h.CallInto(&r, "exec", map[string]any{"command": "sleep 600", "background": true})
		h.CallInto(&ended, "exec", map[string]any{"command": "sleep 0.1; exit 4", "background": true})
		do(t, h, "poll", ended.SessionID, "until", "end")
		waitFor(t, func() bool {
			e, err := storage.Get(t.Context(), recordPrefix+ended.SessionID)
			return err == nil && strings.Contains(string(e.Value), "completed")
		})
	})
	if _, err := os.Stat("/proc/" + jsonText(r.PID)); err == nil {
		t.Errorf("process %d runs on", r.PID)
	}
	h := sdktest.Start(t, newPlugin(), options)
	for _, action := range []string{"poll", "log", "status", "kill"} {
		if a := do(t, h, action, r.SessionID); a.Status != "killed" || a.Reason != lostRunning || a.Command != "sleep 600" {
			t.Errorf("%s: %+v", action, a)
		}
	}
	if a := do(t, h, "poll", ended.SessionID); a.Status != "completed" || *a.ExitCode != 4 || a.Reason != lostWithoutIt {
		t.Errorf("%+v", a)
	}
	if _, err := h.Call("process", map[string]any{"action": "write", "sessionId": r.SessionID, "data": "x"}); code(err) != codeSession {
		t.Errorf("%v", err)
	}
	if all := do(t, h, "list", ""); len(all.Processes) != 2 || all.Processes[0].Status != "killed" {
		t.Errorf("%+v", all)
	}
	h.Run(sdk.RunContext{AgentID: "other", SessionID: "test", RunID: "r"})
	if _, err := h.Call("process", map[string]any{"action": "poll", "sessionId": r.SessionID}); code(err) != "unknown_session" {
		t.Errorf("another agent sees it: %v", err)
	}
	h.Run(sdk.RunContext{AgentID: "test", SessionID: "test", SessionKey: "test", RunID: "r"})
	do(t, h, "remove", r.SessionID)
	if _, err := h.Call("process", map[string]any{"action": "poll", "sessionId": r.SessionID}); code(err) != "unknown_session" {
		t.Errorf("%v", err)
	}
}

func jsonText(v any) string {
	b, _ := json.Marshal(v) // numbers encode
	return string(b)
}

// waitFor waits until a condition holds that comes from another goroutine.
func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}

// TestDrainEndsPolls, which would hold up the host for half an hour.
func TestDrainEndsPolls(t *testing.T) {
	p := newPlugin()
	h := sdktest.Start(t, p, &sdktest.Options{Config: gatewayFull()})
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "sleep 600", "background": true})
	done := make(chan processAnswer)
	go func() {
		var a processAnswer
		raw, err := h.Call("process", map[string]any{"action": "poll", "sessionId": r.SessionID, "until": "end"})
		if err != nil || json.Unmarshal(raw, &a) != nil {
			t.Error(err)
		}
		done <- a
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for polls := 0; polls == 0; { // a plugin that drains takes no new calls
		health, err := p.Service().Health(ctx)
		if err != nil || ctx.Err() != nil {
			t.Fatal(err, ctx.Err())
		}
		polls = health.RunningCalls
	}
	left, err := h.Drain(ctx)
	if a := <-done; err != nil || left != 0 || a.Status != "killed" || a.Reason != lostRunning {
		t.Errorf("%d left, %v: %+v", left, err, a)
	}
}

func TestProcessMistakes(t *testing.T) {
	h := start(t, gatewayFull())
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "cat", "background": true})
	for name, c := range map[string]struct {
		in   map[string]any
		want string
	}{
		"no action":      {map[string]any{}, "invalid_input"},
		"no such action": {map[string]any{"action": "stop"}, "invalid_input"},
		"no session":     {map[string]any{"action": "poll"}, "invalid_input"},
		"other session":  {map[string]any{"action": "poll", "sessionId": "../../x"}, "unknown_session"},
		"nothing":        {map[string]any{"action": "write", "sessionId": r.SessionID}, "invalid_input"},
		"no keys":        {map[string]any{"action": "send-keys", "sessionId": r.SessionID}, "invalid_input"},
		"no text":        {map[string]any{"action": "paste", "sessionId": r.SessionID}, "invalid_input"},
		"no size":        {map[string]any{"action": "resize", "sessionId": r.SessionID}, "invalid_input"},
		"it runs":        {map[string]any{"action": "clear", "sessionId": r.SessionID}, "process_running"},
		"wait too long":  {map[string]any{"action": "poll", "sessionId": r.SessionID, "waitMs": 1 << 40}, "invalid_input"},
	} {
		if raw, err := h.Call("process", c.in); code(err) != c.want {
			t.Errorf("%s: %s, %v, want %s", name, raw, err, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	for name, want := range map[string]string{
		"Enter": "\r", "Tab": "\t", "Escape": "\x1b", "Up": "\x1b[A", "F5": "\x1b[15~", "C-c": "\x03", "C-C": "\x03", "C-[": "\x1b", "C-?": "\x7f",
		"M-x": "\x1bx", "M-Up": "\x1b\x1b[A", "C-": "C-", "C-ab": "C-ab", "C-1": "C-1", "hello": "hello", "": "", "é": "é",
	} {
		if got := key(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := string(pasted("a\x1b[20\x1b[201~1~b\nc", true)); got != "\x1b[200~ab\rc\x1b[201~" {
		t.Errorf("%q", got)
	}
}
