package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/host"
	"github.com/quoinhq/quoin/host/catalog"
	"github.com/quoinhq/quoin/host/codemode"
)

func TestValues(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	for _, tc := range []struct{ name, code, want string }{
		{"number", `return 1 + 1`, `2`},
		{"nothing", `1 + 1`, `null`},
		{"object", `return {b: [1, "é", null], a: undefined}`, `{"b":[1,"é",null]}`},
		{"await", `return await Promise.resolve(42)`, `42`},
		{"date", `return new Date(0)`, `"1970-01-01T00:00:00.000Z"`},
		{"big integer", `return 2n ** 70n`, `"1180591620717411303424"`},
		{"map and set", `return [new Map([[1, 2]]), new Set([3])]`, `[[[1,2]],[3]]`},
		{"cycle", `const a = {}; a.self = a; return a`, `{"self":"[Circular]"}`},
		{"markup stays readable", `return "<a & b>"`, `"<a & b>"`},
		{"no modules, no process", `return [typeof require, typeof process, typeof fetch]`, `["undefined","undefined","undefined"]`},
	} {
		t.Run(tc.name, func(t *testing.T) { wantValue(t, exec(h, tc.code), tc.want) })
	}
}

func TestTypeScript(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := h.Exec(context.Background(), me, host.ExecInput{Language: "typescript", Code: `
interface P { x: number }
const p: P = { x: 20 };
return (p.x as number) * 2 + 2;`})
	wantValue(t, r, `42`)
}

func TestOutputOrder(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := exec(h, `text("one"); json({two: 2}); console.log("three", 3); await null; text("four"); return 5`)
	wantValue(t, r, `5`)
	got, err := json.Marshal(r.Output)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"text","text":"one"},{"type":"json","value":{"two":2}},{"type":"text","text":"three 3"},{"type":"text","text":"four"}]`
	if string(got) != want {
		t.Errorf("output %s\nwant   %s", got, want)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Settings: host.Settings{Languages: []string{"javascript"}}})
	for _, tc := range []struct {
		name   string
		in     host.ExecInput
		reason codemode.Reason
		say    string
	}{
		{"empty", host.ExecInput{}, "", "empty"},
		{"blank", host.ExecInput{Code: " \n\t"}, "", "empty"},
		{"two programs", host.ExecInput{Code: "return 1", Command: "return 2"}, "", "differ"},
		{"language", host.ExecInput{Code: "x", Language: "python"}, codemode.ReasonUnsupportedLanguage, "python"},
		{"language switched off", host.ExecInput{Code: "x", Language: "typescript"}, codemode.ReasonUnsupportedLanguage, "disabled"},
		{"syntax", host.ExecInput{Code: "return (1"}, codemode.ReasonSyntax, "SyntaxError"},
		{"escape, another function", host.ExecInput{Code: "}, () => {"}, codemode.ReasonSyntax, "closes the function"},
		{"escape, another program", host.ExecInput{Code: `}); text("out"); (async()=>{ return 5`}, codemode.ReasonSyntax, "closes the function"},
		{"escape behind a comment", host.ExecInput{Code: "} /* ) */\n, async () => { return 6"}, codemode.ReasonSyntax, "closes the function"},
		{"shell", host.ExecInput{Code: "ls -la"}, codemode.ReasonShell, "shell"},
		{"import", host.ExecInput{Code: `import fs from "fs"; return 1`}, codemode.ReasonModuleAccess, "module"},
		{"not UTF-8", host.ExecInput{Code: "return '\xff'"}, "", "UTF-8"},
		{"dynamic import", host.ExecInput{Code: `return await import("fs")`}, codemode.ReasonModuleAccess, "module"},
		{"require", host.ExecInput{Code: `return require("fs")`}, codemode.ReasonModuleAccess, "module"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := h.Exec(context.Background(), me, tc.in)
			wantFailure(t, r, codemode.CodeInvalidInput, tc.reason, codemode.PhaseInput)
			if !strings.Contains(r.Error, tc.say) {
				t.Errorf("error %q does not mention %q", r.Error, tc.say)
			}
			if r.Dispatched {
				t.Error("dispatched is set, but nothing ran")
			}
		})
	}
}

// TestBracesOfEveryKind: programs full of braces that close nothing of ours run.
func TestBracesOfEveryKind(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	for code, want := range map[string]string{
		"return [(() => { return 1 })(), { a: 1 }, (function () {})].length":                                       `3`,
		"\"use strict\"; function f() { return 1 } function f() { return 2 } return [f(), () => {}].length":        `2`,
		"async function g() { return 1 } async function g() { return 2 } return await g(), (() => { return 3 })()": `3`,
		"const s = \"}, () => {\"; /* }) */ return `${[{}, {}].length}` + s":                                       `"2}, () => {"`,
		"if (true) { } /x/.test(\"x\"); return ((a) => { return a }) (1) // })":                                    `1`,
		"label: { break label } ; class A { m() {} }, [A]; return 1":                                               ``,
	} {
		r := exec(h, code)
		if want == "" {
			wantFailure(t, r, codemode.CodeInvalidInput, codemode.ReasonSyntax, codemode.PhaseInput)
			continue
		}
		wantValue(t, r, want)
	}
}

func TestCommandIsAnAlias(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	for name, in := range map[string]host.ExecInput{
		"alone":        {Command: "return 42"},
		"equal":        {Code: "return 42", Command: "return 42"},
		"blank":        {Code: "return 42", Command: " "},
		"blank code":   {Code: " ", Command: "return 42"},
		"title is fun": {Code: "return 42", Title: "answer"},
	} {
		t.Run(name, func(t *testing.T) { wantValue(t, h.Exec(context.Background(), me, in), `42`) })
	}
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Settings: host.Settings{Disabled: true}})
	wantFailure(t, exec(h, "return 1"), codemode.CodeInvalidInput, codemode.ReasonInvalidConfig, codemode.PhaseInput)
}

func TestGuestErrors(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	r := exec(h, "\n  null.x")
	wantFailure(t, r, codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
	if !strings.HasPrefix(r.Error, "TypeError: ") || !strings.Contains(r.Error, "cell.js:2:") {
		t.Errorf("error %q lacks its name or the line of the submitted source", r.Error)
	}
	r = exec(h, `Promise.reject(new RangeError("nobody looks")); return 1`)
	wantFailure(t, r, codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
	if !strings.Contains(r.Error, "nobody looks") {
		t.Errorf("error %q hides the unhandled rejection", r.Error)
	}
	r = exec(h, `tools.call("nobody"); return 1`)
	wantFailure(t, r, codemode.CodeInternal, codemode.ReasonNestedTool, codemode.PhaseBridge)
	r = exec(h, `await new Promise(() => {})`)
	wantFailure(t, r, codemode.CodeInternal, codemode.ReasonGuestException, codemode.PhaseGuest)
	if r.Error != "code mode promise is pending without host work" {
		t.Errorf("error %q", r.Error)
	}
	r = exec(h, `throw new Error("x".repeat(100000))`)
	if len(r.Error) > 8<<10 {
		t.Errorf("error text has %d bytes, at most 8 KiB are allowed", len(r.Error))
	}
}

func TestToolCalls(t *testing.T) {
	t.Parallel()
	fail := catalog.Tool{Name: "fail", Description: "Always fails.", Invoke: func(context.Context, catalog.Invocation) (json.RawMessage, error) {
		return nil, errors.New("out of paper")
	}}
	typed := echo("typed")
	typed.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo"), echo("dotted.name"), fail, typed}})
	for _, tc := range []struct{ name, code, want string }{
		{"by name", `return await tools.call("echo", {a: 1})`, `{"a":1}`},
		{"by id", `return await tools.call("quoin:core:echo", {a: 1})`, `{"a":1}`},
		{"by function", `return await tools.echo({a: 1})`, `{"a":1}`},
		{"by safe name", `return await tools.dotted_name({a: 1})`, `{"a":1}`},
		{"without input", `return await tools.echo()`, `{}`},
		{"all at once", `return await Promise.all([1, 2, 3].map(n => tools.echo({n})))`, `[{"n":1},{"n":2},{"n":3}]`},
		{"one after the other", `let s = 0; for (let i = 0; i < 20; i++) s += (await tools.echo({i})).i; return s`, `190`},
		{"failure is caught", `try { await tools.fail() } catch (e) { return [e.name, e.message, e.code, e.toolId] }`, `["Error","out of paper","tool_error","quoin:core:fail"]`},
		{"unknown tool", `try { await tools.call("ecco", {}) } catch (e) { return [e.code, /echo/.test(e.message)] }`, `["unknown_tool",true]`},
		{"input is checked", `try { await tools.typed({n: "x"}) } catch (e) { return e.code }`, `"invalid_input"`},
		{"names", `return ALL_TOOLS.map(t => t.id)`, `["quoin:core:dotted.name","quoin:core:echo","quoin:core:fail","quoin:core:typed"]`},
		{"search", `return (await tools.search("echo"))[0].id`, `"quoin:core:echo"`},
		{"describe", `return (await tools.describe("typed")).parameters.required`, `["n"]`},
	} {
		t.Run(tc.name, func(t *testing.T) { wantValue(t, exec(h, tc.code), tc.want) })
	}
	r := exec(h, `await tools.fail()`)
	wantFailure(t, r, codemode.CodeInternal, codemode.ReasonNestedTool, codemode.PhaseBridge)
	if !r.Dispatched || !strings.Contains(r.Error, "out of paper") {
		t.Errorf("got %s, want dispatched and the tool's words", show(r))
	}
}

func TestCallsThatAreNotAwaitedAreDrained(t *testing.T) {
	t.Parallel()
	g := newGate()
	h := start(t, host.Config{Tools: []catalog.Tool{g.tool("slow")}})
	go func() {
		<-g.entered
		close(g.open)
	}()
	r := exec(h, `tools.slow().then(v => text(v)); return "done"`)
	wantValue(t, r, `"done"`)
	if len(r.Output) != 1 || r.Output[0].Text() != "through" {
		t.Errorf("output %s: the call that was not awaited was not drained", show(r))
	}
	if r := exec(h, `tools.slow(); null.x`); r.Status != host.StatusFailed || !r.Dispatched {
		t.Errorf("got %s, want failed and dispatched", show(r))
	}
}

func TestTelemetry(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{Tools: []catalog.Tool{echo("echo")}})
	r := exec(h, `await tools.search("e"); await tools.describe("echo"); await tools.echo(); await tools.call("echo"); return 1`)
	wantValue(t, r, `1`)
	got := r.Telemetry
	if got.CatalogSize != 1 || got.Sources["quoin"] != 1 || got.SearchCount != 1 || got.DescribeCount != 1 || got.CallCount != 2 {
		t.Errorf("counts are wrong: %+v", got)
	}
	if got.GuestCPUMillis <= 0 || got.WallMillis <= 0 || got.PeakHeapBytes == 0 {
		t.Errorf("measurements are missing: %+v", got)
	}
	if strings.Join(got.VisibleTools, " ") != "exec wait" {
		t.Errorf("visible tools %v", got.VisibleTools)
	}
	if len(got.Isolation.Layers) == 0 || !strings.Contains("ABCD", got.Isolation.Tier) {
		t.Errorf("isolation %+v: the worker's tier and layers are missing", got.Isolation)
	}
}

func TestTimers(t *testing.T) {
	t.Parallel()
	h := start(t, host.Config{})
	wantValue(t, exec(h, `
const order = [];
setTimeout(() => order.push("b"), 20);
setTimeout(() => order.push("a"), 1);
const n = await new Promise(done => { let n = 0; const id = setInterval(() => { if (++n === 3) { clearInterval(id); done(n) } }, 2) });
await new Promise(done => setTimeout(done, 40));
return [n, order]`), `[3,["a","b"]]`)
}
