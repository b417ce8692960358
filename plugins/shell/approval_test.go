package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/plugins/protocol"
	"github.com/quoinhq/quoin/sdk"
	"github.com/quoinhq/quoin/sdk/sdktest"
)

// judged asks the hook about a call.
func judged(t *testing.T, h *sdktest.Harness, tool string, input map[string]any) protocol.HookVerdict {
	t.Helper()
	params, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	v, err := h.Before(sdk.ToolCall{Kind: "tool", ToolID: "quoin:core:" + tool, Source: "quoin", Owner: "core", ToolName: tool, Params: params, CallID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// code is the code of a call's error; empty without one.
func code(err error) string {
	var e *protocol.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func with(input map[string]any, name string, value any) map[string]any {
	more := maps.Clone(input)
	more[name] = value
	return more
}

func TestApprovedCommandRunsAsItWasShown(t *testing.T) {
	h := start(t, map[string]any{"host": "gateway", "allow": []string{"true"}})
	input := map[string]any{"command": "printf '%s' \"$((1+1))\"  'a  b'"}
	v := judged(t, h, "exec", input)
	if v.Block || v.Approval == nil || v.Approval.Subject == "" || !strings.Contains(v.Approval.Description, input["command"].(string)) {
		t.Fatalf("%+v", v.Approval)
	}
	if _, err := h.Call("exec", input); code(err) != codeApproval {
		t.Errorf("without an approval: %v", err)
	}
	raw, err := h.CallApproved(sdk.CallApproval{ID: "apr_1", Subject: v.Approval.Subject}, "exec", input)
	var r processResult
	if err != nil || json.Unmarshal(raw, &r) != nil || r.Output != "2a  b" || r.ApprovalID != "apr_1" {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestAnApprovalIsForOneCall: whatever changes what would run needs another approval.
func TestAnApprovalIsForOneCall(t *testing.T) {
	h := start(t, map[string]any{"host": "gateway", "elevated": map[string]any{"enabled": true, "agents": []string{"test"}}})
	input := map[string]any{"command": "cat /etc/hostname"}
	v := judged(t, h, "exec", input)
	if v.Approval == nil {
		t.Fatalf("%+v", v)
	}
	approval := sdk.CallApproval{ID: "apr_1", Subject: v.Approval.Subject}
	for name, other := range map[string]map[string]any{
		"command":   with(input, "command", "cat /etc/passwd"),
		"more":      with(input, "command", "cat /etc/hostname; id"),
		"directory": with(input, "workdir", "/"),
		"variable":  with(input, "env", map[string]string{"A": "1"}),
		"terminal":  with(input, "pty", true),
		"elevated":  with(input, "elevated", true),
		"sandbox":   with(input, "host", "sandbox"),
	} {
		if raw, err := h.CallApproved(approval, "exec", other); code(err) != codeApproval {
			t.Errorf("%s: %s, %v", name, raw, err)
		}
	}
	if _, err := h.CallApproved(sdk.CallApproval{ID: "apr_1"}, "exec", input); code(err) != codeApproval {
		t.Errorf("an approval of nothing: %v", err)
	}
}

// TestAnApprovalIsForContents: what a person has approved does not run once a file has changed that it takes commands
// from, and the question names the file.
func TestAnApprovalIsForContents(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	bin := t.TempDir()
	for _, name := range []string{"npm", "node", "make", "python3"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h := start(t, map[string]any{"host": "gateway", "workdir": work, "allow": []string{"cat"}, "path": []string{bin, "/usr/bin", "/bin"}})
	put := func(name, content string) {
		if err := os.WriteFile(filepath.Join(work, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(work, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for line, file := range map[string]string{
		"sh x.sh": "x.sh", "bash ./x.sh a b": "x.sh", "./x.sh": "x.sh", "sh < x.sh": "x.sh", "cat x.sh | sh": "x.sh", ". ./x.sh": "x.sh", "source x.sh": "x.sh", "cd sub && sh y.sh": "sub/y.sh", "sh sub/../x.sh": "x.sh",
		"make": "Makefile", "make -C sub all": "sub/Makefile", "make -f rules.mk": "rules.mk", "make --file=rules.mk": "rules.mk", "python3 x.py": "x.py", "env A=1 python3 x.py": "x.py", "for i in 1 2; do sh x.sh; done": "x.sh",
		"npm run build": "package.json", "node --require=x.js x.py": "x.js", "eval \"$(cat x.sh)\"": "x.sh", "timeout 5 sh x.sh": "x.sh", "find . -name a -exec sh x.sh ';'": "x.sh",
	} {
		put(file, "echo HARMLESS\n")
		input := map[string]any{"command": line}
		v := judged(t, h, "exec", input)
		if v.Approval == nil || !strings.Contains(v.Approval.Description, filepath.Base(file)+" (sha256 ") {
			t.Errorf("%s: the question does not name %s: %+v", line, file, v.Approval)
			continue
		}
		put(file, "echo EVIL\n")
		if raw, err := h.CallApproved(sdk.CallApproval{ID: "apr_1", Subject: v.Approval.Subject}, "exec", input); code(err) != codeApproval {
			t.Errorf("%s: %s, %v", line, raw, err)
		}
	}
	put("Makefile", "all:\n\techo ok\n")
	if v := judged(t, h, "exec", map[string]any{"command": "make"}); !strings.Contains(v.Approval.Description, "\nNot known: what make reads besides that") {
		t.Errorf("%s", v.Approval.Description)
	}
	for i := range 12 {
		put(fmt.Sprint("part", i), "x")
	}
	if v := judged(t, h, "exec", map[string]any{"command": "sh part0 part1 part2 part3 part4 part5 part6 part7 part8 part9 part10 part11"}); strings.Count(v.Approval.Description, "Reads: ") != 9 || !strings.Contains(v.Approval.Description, "Reads: 4 more files") {
		t.Errorf("%s", v.Approval.Description)
	}
	if v := judged(t, h, "exec", map[string]any{"command": "sh x.sh"}); !strings.Contains(v.Approval.Description, "\nNot held: ") {
		t.Errorf("the question does not say until when the file may change: %s", v.Approval.Description)
	}
	put("log", "a")
	v := judged(t, h, "exec", map[string]any{"command": "ls -l log"})
	put("log", "b")
	if again := judged(t, h, "exec", map[string]any{"command": "ls -l log"}); again.Approval.Subject != v.Approval.Subject || strings.Contains(again.Approval.Description, "Not held") {
		t.Error("the contents of a file that is no program count")
	}
}

// TestAnotherPrefixIsAnotherSubject: a decision for always does not give the rights of a
// prefix that the operator sets later.
func TestAnotherPrefixIsAnotherSubject(t *testing.T) {
	work := t.TempDir()
	subject := func(input map[string]any, prefix ...string) string {
		h := start(t, map[string]any{"host": "gateway", "workdir": work, "elevated": map[string]any{"enabled": true, "agents": []string{"test"}, "prefix": prefix}})
		return judged(t, h, "exec", input).Approval.Subject
	}
	for elevated, same := range map[bool]bool{true: false, false: true} {
		input := map[string]any{"command": "cat /etc/hostname", "elevated": elevated}
		if got := subject(input) == subject(input, "/usr/bin/env"); got != same {
			t.Errorf("elevated %v: same is %v", elevated, got)
		}
	}
}

// TestOnlyWhatIsUnderstoodIsRemembered: allow-always is offered for commands that are the
// same whenever they run.
func TestOnlyWhatIsUnderstoodIsRemembered(t *testing.T) {
	h := start(t, map[string]any{"host": "gateway"})
	for line, want := range map[string]bool{
		"cat /etc/hostname":         true,
		"nice cat /etc/hostname":    true,
		"cat $(echo /etc/hostname)": false,
		"cat $FILE":                 false,
		"eval cat /etc/hostname":    false,
	} {
		v := judged(t, h, "exec", map[string]any{"command": line})
		if v.Approval == nil || slices.Contains(v.Approval.Allowed, "allow-always") != want || !slices.Contains(v.Approval.Allowed, "deny") {
			t.Errorf("%s: %+v", line, v.Approval)
		}
		if strings.HasSuffix(v.Approval.Subject, " cat /etc/hostname") != want {
			t.Errorf("%s: the subject is %q, and a person is to see what it allows", line, v.Approval.Subject)
		}
	}
}

// TestHookBlocks what no one can approve, before anyone is asked.
func TestHookBlocks(t *testing.T) {
	h := start(t, map[string]any{"host": "gateway"})
	for name, input := range map[string]map[string]any{
		"security deny":     {"command": "ls", "security": "deny"},
		"ask off":           {"command": "ls", "ask": "off"}, // asks for less, so that it is asked about
		"too long":          {"command": "echo " + strings.Repeat("x", 5000)},
		"NUL":               {"command": "echo \x00"},
		"variable":          {"command": "ls", "env": map[string]string{"LD_PRELOAD": "/tmp/x.so"}},
		"path":              {"command": "ls", "env": map[string]string{"PATH": "/tmp"}},
		"no such directory": {"command": "ls", "workdir": "/no/such/directory"},
		"other host":        {"command": "ls", "host": "node", "node": "n"},
		"elevated":          {"command": "ls", "elevated": true},
		"unknown field":     {"command": "ls", "COMMAND": "id"},
		"not a text":        {"command": 7},
	} {
		v := judged(t, h, "exec", input)
		if name == "ask off" {
			if v.Block || v.Approval == nil {
				t.Errorf("%s: %+v", name, v)
			}
			continue
		}
		if !v.Block || v.Reason == "" || v.Approval != nil {
			t.Errorf("%s: %+v", name, v)
		}
		if raw, err := h.CallApproved(sdk.CallApproval{ID: "apr_1", Subject: "x"}, "exec", input); err == nil {
			t.Errorf("%s: the tool ran it: %s", name, raw)
		}
	}
}

// TestInputOfAnApprovedShellIsApproved: what a shell reads runs, and no one has seen it.
func TestInputOfAnApprovedShellIsApproved(t *testing.T) {
	h := start(t, map[string]any{"host": "gateway"})
	input := map[string]any{"command": "sh", "background": true}
	raw, err := h.CallApproved(sdk.CallApproval{ID: "apr_1", Subject: judged(t, h, "exec", input).Approval.Subject}, "exec", input)
	var r processResult
	if err != nil || json.Unmarshal(raw, &r) != nil {
		t.Fatal(err)
	}
	for _, in := range []map[string]any{
		{"action": "write", "sessionId": r.SessionID, "data": "echo \u202eowned\n"},
		{"action": "submit", "sessionId": r.SessionID, "data": "echo owned"},
		{"action": "paste", "sessionId": r.SessionID, "text": "echo owned\n"},
		{"action": "send-keys", "sessionId": r.SessionID, "keys": []string{"echo owned", "Enter"}},
	} {
		v := judged(t, h, "process", in)
		if v.Approval == nil || slices.Contains(v.Approval.Allowed, "allow-always") || strings.Contains(v.Approval.Description, "\u202e") {
			t.Fatalf("%v: %+v", in, v.Approval)
		}
		if _, err := h.Call("process", in); code(err) != codeApproval {
			t.Errorf("%v without an approval: %v", in, err)
		}
		other := maps.Clone(in)
		other["eof"] = true
		if in["action"] == "write" {
			if _, err := h.CallApproved(sdk.CallApproval{ID: "apr_2", Subject: v.Approval.Subject}, "process", other); code(err) != codeApproval {
				t.Errorf("another input with the approval: %v", err)
			}
		}
	}
	in := map[string]any{"action": "write", "sessionId": r.SessionID, "data": "echo $((40+2)); exit\n"}
	if _, err := h.CallApproved(sdk.CallApproval{ID: "apr_3", Subject: judged(t, h, "process", in).Approval.Subject}, "process", in); err != nil {
		t.Fatal(err)
	}
	h.CallInto(&r, "process", map[string]any{"action": "poll", "sessionId": r.SessionID, "until": "end"})
	if r.Output != "42\n" || *r.ExitCode != 0 {
		t.Errorf("%+v", r)
	}
	for _, action := range []string{"poll", "log", "status", "kill"} {
		if v := judged(t, h, "process", map[string]any{"action": action, "sessionId": r.SessionID}); v.Approval != nil || v.Block {
			t.Errorf("%s: %+v", action, v)
		}
	}
}

// TestTerminalsOfTheAllowListTakeNoInput: a pager on the allow-list takes commands.
func TestTerminalsOfTheAllowListTakeNoInput(t *testing.T) {
	h := start(t, map[string]any{"host": "gateway", "ask": "off", "allow": []string{"cat"}})
	var r processResult
	h.CallInto(&r, "exec", map[string]any{"command": "cat", "pty": true, "background": true})
	in := map[string]any{"action": "write", "sessionId": r.SessionID, "data": "!id\n"}
	if v := judged(t, h, "process", in); !v.Block {
		t.Errorf("%+v", v)
	}
	if _, err := h.Call("process", in); code(err) != codeDenied {
		t.Errorf("%v", err)
	}
	h.CallInto(&r, "exec", map[string]any{"command": "cat", "background": true})
	h.CallInto(&r, "process", map[string]any{"action": "write", "sessionId": r.SessionID, "data": "tea", "eof": true})
	h.CallInto(&r, "process", map[string]any{"action": "poll", "sessionId": r.SessionID, "until": "end"})
	if r.Output != "tea" {
		t.Errorf("%+v", r)
	}
}

// TestWhatCannotRunIsNotAsked: no person decides about a blank line, or about a program that is not there.
func TestWhatCannotRunIsNotAsked(t *testing.T) {
	t.Parallel()
	h := start(t, map[string]any{"host": "gateway"})
	for line, want := range map[string]string{
		"   ": "the command is blank", "nosuchprogram ls": "nosuchprogram", "env A=1 nosuchprogram": "nosuchprogram", "nosuchprogram | cat": "nosuchprogram", "sh -c 'nosuchprogram x'": "nosuchprogram",
	} {
		if v := judged(t, h, "exec", map[string]any{"command": line}); !v.Block || !strings.Contains(v.Reason, want) {
			t.Errorf("%q: %+v", line, v)
		}
	}
	for _, line := range []string{"eval ls", "nosuchprogram || ls", "command -v nosuchprogram && nosuchprogram", "ls | nosuchprogram", "if true; then nosuchprogram; fi", "./nosuchprogram", "f() { nosuchprogram; }"} {
		if v := judged(t, h, "exec", map[string]any{"command": line}); v.Approval == nil {
			t.Errorf("%q: %+v", line, v)
		}
	}
}
