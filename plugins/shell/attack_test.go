package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// routes are programs that try to have `touch made` run, each in another way.
var routes = []string{
	`return await Shell.run("touch made")`,
	`return await Shell.start("touch made")`,
	"return await Shell.sh`touch ${'made'}`",
	"return await Shell.sh`${'touch'} made`",
	"return await Shell.sh`echo ${'x; touch made'} ; touch made`",
	"const s = Object.assign(['touch made'], {raw: ['touch made']}); return await Shell.sh(s)",
	"const s = Object.assign(['echo x'], {raw: ['touch made']}); return await Shell.sh(s)",
	"const s = Object.assign(['touch made'], {raw: ['echo x']}); return await Shell.sh(s)",
	`return await tools.exec({command: "touch made"})`,
	`return await tools["quoin:core:exec"]({command: "touch made"})`,
	`return await tools.call("exec", {command: "touch made"})`,
	`return await tools.call("quoin:core:exec", {command: "touch made"})`,
	`return await tools.call("exec", {command: "echo x", COMMAND: "touch made"})`,
	`return await tools.call("exec", {Command: "touch made", command: "echo x"})`,
	`return await tools.call("exec", {command: ["touch", "made"]})`,
	`return await tools.call("exec", {command: {toString() { return "touch made" }}})`,
	`return await tools.call("exec", {command: new String("touch made")})`,
	`let n = 0; return await tools.call("exec", {get command() { return n++ ? "touch made" : "echo x" }})`,
	`return await tools.call("exec", new Proxy({command: "echo x"}, {get: (t, k) => k === "command" ? "touch made" : t[k]}))`,
	`return await tools.call("exec", {command: "echo x", toJSON() { return {command: "touch made"} }})`,
	`return await tools.call("exec", Object.create({command: "touch made"}))`,
	`return await tools.call("exec", {command: "touch made", approval: {id: "x", subject: "y"}})`,
	`return await tools.call("exec", {command: "touch made", security: "full"})`,
	`return await tools.call("exec", {command: "touch made", ask: "off", security: "full"})`,
	`return await tools.call("exec", {command: "touch made", security: "anything"})`,
	`return await tools.call("exec", {command: "touch made", elevated: true})`,
	`return await tools.call("exec", {command: "touch made", elevated: true, host: "gateway", security: "full", ask: "off"})`,
	`return await tools.call("exec", {command: "touch made", host: "node", node: "x"})`,
	`return await tools.call("exec", {command: "touch made", host: "node", node: "../x"})`,
	`return await tools.call("exec", {command: "touch made", pty: true})`,
	`return await tools.call("exec", {command: "touch made", background: true})`,
	`return await tools.call("exec", {command: "echo x", env: {PATH: "."}})`,
	`return await tools.call("exec", {command: "echo x", env: {BASH_ENV: "run"}})`,
	`return await tools.call("exec", {command: "cat x", env: {LD_PRELOAD: "./x.so"}})`,
	`return await tools.call("exec", {command: "echo x", env: {"BASH_FUNC_echo%%": "() { touch made; }"}})`,
	`return await tools.call("exec", {command: "echo x", env: {"A=1\nBASH_ENV": "run"}})`,
	`return await tools.call("exec", {command: "echo x", env: {SHELLOPTS: "xtrace", PS4: "$(touch made)"}})`,
	`return await tools.call("exec", {command: "./echo x"})`,
	`return await tools.call("exec", {command: "echo x", workdir: "$(touch made)"})`,
	`return await tools.call("exec", {command: "echo x", workdir: "; touch made"})`,
	`return await Shell.run("echo x", {command: "touch made"})`,
	`return await Shell.run("echo x", {security: "full", command: "touch made"})`,
	`return await Shell.run({command: "touch made"})`,
	`return await Shell.run("echo x\ntouch made")`,
	`return await Shell.run("echo x\rtouch made")`,
	`return await Shell.run("echo x\u0000; touch made")`,
	`return await Shell.run("echo x\u2028touch made")`,
	`return await Shell.run("echo x\u0085touch made")`,
	`return await Shell.run("echo x; touch\u00a0made; touch made")`,
	`return await Shell.run("echo " + "x ".repeat(3000) + "; touch made")`,
	`return await Shell.run("echo '" + "(".repeat(2000) + "'; " + "( ".repeat(500) + "touch made" + " )".repeat(500))`,
	`return await Shell.run("echo \ud800; touch made")`,
	`return await Shell.run("cat <<< x | sh -c 'touch made'")`,
	`const p = await Shell.start("cat"); await p.write("touch made\n", {eof: true}); return await p.wait()`,
	`const p = await Shell.start("cat", {pty: true}); return await p.write("touch made\n")`,
	`const p = await Shell.run("echo x"); return await tools.call("process", {action: "write", sessionId: p.sessionId, data: "touch made\n"})`,
	`return await tools.call("process", {action: "exec", command: "touch made"})`,
	`return await tools.call("process", {action: "write", sessionId: "../x", data: "touch made"})`,
	`Object.prototype.command = "touch made"; return await tools.call("exec", {})`,
	`Object.prototype.security = "full"; return await Shell.run("touch made")`,
	`Object.prototype.toJSON = () => ({command: "touch made"}); return await Shell.run("echo x")`,
	`Array.prototype.join = () => "touch made"; return await Shell.run("echo x")`,
	`String.prototype.toString = () => "touch made"; return await Shell.run("echo x")`,
	`JSON.stringify = () => '{"command":"touch made"}'; return await Shell.run("echo x")`,
	`return await Promise.allSettled([Shell.run("echo x"), Shell.run("touch made"), Shell.run("echo y")])`,
}

// TestNoRouteRunsADeniedCommand: the allow-list has echo and cat, and no person is asked.
func TestNoRouteRunsADeniedCommand(t *testing.T) {
	work := t.TempDir()
	for name, text := range map[string]string{"echo": "#!/bin/sh\ntouch made\n", "run": "touch made\n", "x": "touch made\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	made := filepath.Join(work, "made")
	for name, config := range map[string]map[string]any{
		"not elevated": {"host": "gateway", "allow": []string{"echo", "cat"}, "ask": "off", "workdir": work},
		"elevated":     {"host": "gateway", "allow": []string{"echo", "cat"}, "ask": "off", "workdir": work, "elevated": map[string]any{"enabled": true, "agents": []string{"another"}, "full": true}},
	} {
		h := start(t, config)
		works := h.Cell(`return (await Shell.run("echo x")).output`)
		if got := string(works.Value); got != `"x\n"` {
			t.Errorf("%s: echo gives %s %v", name, got, works.Error)
		}
		for _, code := range routes {
			r := h.Cell(code)
			if _, err := os.Lstat(made); err == nil {
				t.Errorf("%s: %s ran it: %s", name, code, r.Value)
				if err := os.Remove(made); err != nil {
					t.Fatal(err)
				}
			}
		}
		h.Cell(`for (const p of (await Shell.list()).processes) await tools.call("process", {action: "remove", sessionId: p.sessionId})`)
		if _, err := os.Lstat(made); err == nil {
			t.Errorf("%s: a process ran it late", name)
		}
	}
}

// TestNoRouteAroundAnApproval: where a person would be asked, nothing of a program's
// stands for one.
func TestNoRouteAroundAnApproval(t *testing.T) {
	work := t.TempDir()
	h := start(t, map[string]any{"host": "gateway", "workdir": work})
	for _, input := range []map[string]any{
		{"command": "touch made"},
		{"command": "touch made", "ask": "off"},
		{"command": "touch made", "security": "full"},
		{"command": "touch made", "ask": "off", "security": "full"},
	} {
		if _, err := h.Call("exec", input); err == nil || code(err) != codeApproval && !strings.Contains(code(err), "denied") {
			t.Errorf("%v: %v", input, err)
		}
	}
	if entries, err := os.ReadDir(work); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
}
