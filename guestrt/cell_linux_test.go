package guestrt

import (
	"strings"
	"testing"

	"github.com/quoinhq/quoin/internal/wire"
)

func TestCellsRun(t *testing.T) {
	p := newPool(t, Config{})
	for _, c := range []struct {
		cell  wire.Cell
		value string
	}{
		{js("return 1+1"), "2"},
		{js("// only a comment"), "null"},
		{js("return {a: [1, null, 'é']} // end"), `{"a":[1,null,"é"]}`},
		{js("return await Promise.resolve(new Date(0))"), `"1970-01-01T00:00:00.000Z"`},
		{js("return new Date(0).toString()"), `"Thu Jan 01 1970 00:00:00 GMT+0000"`},
		{js("'use strict'; return this === undefined"), "false"},
		{js("return typeof require + typeof process"), `"undefinedundefined"`},
		{js("return \"import('x')\" + `require('y')`"), `"import('x')require('y')"`},
		{ts("interface A { a: number }\nconst x: A = {a: 1}\nreturn x.a as number"), "1"},
		{ts("const seen: string[] = []; { using a = { [Symbol.dispose]() { seen.push('a') } }; await using b = { async [Symbol.asyncDispose]() { seen.push('b') } } } return seen"), `["b","a"]`},
		{js("return await Array.fromAsync((async function* () { yield* [1, 2] })())"), "[1,2]"},
		{js("const a = performance.now(); return a >= 0 && a < 60000 && Math.abs(performance.timeOrigin - Date.now()) < 60000"), "true"},
		{ts("import type { A } from 'y'\nenum E { X = 3 }\nreturn E.X"), "3"},
	} {
		w := acquire(t, p, "")
		wantValue(t, start(t, w, c.cell, nil), c.value)
		p.Release(w)
	}
}

func TestSettlementsReachTheGuest(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "s")
	defer p.Release(w)
	r := start(t, w, js(`
		const a = await tools.call("one", {n: 1})
		try { await tools.call("two", {}) } catch (e) { text(e.message + e.code) }
		return a.x`), nil)
	if r.Status != wire.StatusIdle || len(r.Requests) != 1 || r.Requests[0].Target != "one" || string(r.Requests[0].Args) != `{"n":1}` {
		t.Fatalf("first turn: %+v", r)
	}
	r = turn(t, w, resolve(r.Requests[0].ID, map[string]int{"x": 7}))
	if r.Status != wire.StatusIdle || len(r.Requests) != 1 || r.Requests[0].Target != "two" {
		t.Fatalf("second turn: %+v", r)
	}
	r = turn(t, w, wire.Settlement{ID: r.Requests[0].ID, JSON: []byte(`{"message":"no","code":"c"}`)})
	wantValue(t, r, "7")
	if len(r.Output) != 1 || string(r.Output[0].JSON) != `"noc"` {
		t.Errorf("output %+v", r.Output)
	}
}

func TestTimersNeedATurnWithoutSettlements(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "s")
	defer p.Release(w)
	r := start(t, w, js(`await new Promise(r => setTimeout(r, 1)); return "late"`), nil)
	for r.Status == wire.StatusIdle {
		if r.TimerMillis < 0 {
			t.Fatalf("idle without a timer: %+v", r)
		}
		r = turn(t, w)
	}
	wantValue(t, r, `"late"`)
}

func TestVirtualFilesAndNamespaces(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "s")
	defer p.Release(w)
	cell := js(`return [ALL_TOOLS.length, ALL_TOOLS[0].id, await Issues.list({open: true}), namespaces.Issues.version]`)
	cell.Namespaces = []wire.NamespaceRef{{Global: "Issues", ID: "issues"}}
	r := start(t, w, cell, virtual(map[string]string{
		"catalog.json":           `[{"id":"quoin:core:x","name":"x","description":"d","source":"quoin"}]`,
		"tools.json":             `{"x":"quoin:core:x"}`,
		"namespaces/issues.json": `{"kind":"object","entries":{"list":{"kind":"call"},"version":{"kind":"value","value":3}}}`,
	}))
	if r.Status != wire.StatusIdle || len(r.Requests) != 1 {
		t.Fatalf("start: %+v %+v", r, r.Err)
	}
	q := r.Requests[0]
	if q.Method != wire.MethodNamespace || q.Target != "issues" || strings.Join(q.Path, ".") != "list" || string(q.Args) != `[{"open":true}]` {
		t.Fatalf("request %+v", q)
	}
	wantValue(t, turn(t, w, resolve(q.ID, []int{1, 2})), `[1,"quoin:core:x",[1,2],3]`)
}

func TestErrorsCarryPlacesOfTheSubmittedSource(t *testing.T) {
	p := newPool(t, Config{})
	for _, c := range []struct {
		cell           wire.Cell
		name, message  string
		reason, frames string
	}{
		{js("null.x"), "TypeError", "cannot read property 'x' of null", "guest_exception", "cell.js:1:5"},
		{js("function f() { null.x }\n\n  f()"), "TypeError", "cannot read property 'x' of null", "guest_exception", "cell.js:1:20 cell.js:3:4"},
		{js("let a = 1;\nlet b = ;"), "SyntaxError", "unexpected token in expression: ';' (cell.js:2:9)", "syntax_error", ""},
		{js("let a = ;"), "SyntaxError", "unexpected token in expression: ';' (cell.js:1:9)", "syntax_error", ""},
		{js("return 1 }"), "SyntaxError", `Unexpected "}" (cell.js:1:10)`, "syntax_error", ""},
		{js("foo(\n"), "SyntaxError", `Unexpected end of file (cell.js:2:1)`, "syntax_error", ""},
		{ts("type A = {\n  b: string\n}\nfunction f(a: A): void {\n  (null as any).x\n}\nf({b: ''})"), "TypeError", "cannot read property 'x' of null", "guest_exception", "cell.ts:5:4 cell.ts:7:1"},
		{ts("let x: = 1"), "SyntaxError", `Unexpected "=" (cell.ts:1:8)`, "typescript_transform_failed", ""},
		{js("const a = 1\nusing x = f()"), "SyntaxError", "expecting ';', using works in TypeScript alone: send the language typescript, or use try and finally (cell.js:2:7)", "syntax_error", ""},
		{js("await 1\nimport 'fs'"), "Error", "", "module_access_denied", ""},
		{js("git status"), "Error", "", "shell_command", ""},
	} {
		w := acquire(t, p, "")
		r := start(t, w, c.cell, nil)
		p.Release(w)
		if r.Status != wire.StatusFailed {
			t.Errorf("%q: status %d", c.cell.Source, r.Status)
			continue
		}
		e := r.Err
		if e.Name != c.name || (c.message != "" && e.Message != c.message) || e.Reason != c.reason {
			t.Errorf("%q: %s: %s (%s), want %s: %s (%s)", c.cell.Source, e.Name, e.Message, e.Reason, c.name, c.message, c.reason)
		}
		if got := places(e.Stack); got != c.frames {
			t.Errorf("%q: stack %q, want places %q", c.cell.Source, e.Stack, c.frames)
		}
	}
}

// TestTypeScriptNestsAsJavaScriptDoes: the same text completes in both languages,
// and what fails deep inside is found.
func TestTypeScriptNestsAsJavaScriptDoes(t *testing.T) {
	p := newPool(t, Config{})
	for name, source := range map[string]string{
		"classes":   strings.Repeat("class A{m(){\n", 200) + strings.Repeat("}}", 200) + "\nreturn 1",
		"functions": strings.Repeat("function f(){\n", 400) + strings.Repeat("}", 400) + "\nreturn 1",
		"arrays":    "const x = " + strings.Repeat("[\n", 1000) + strings.Repeat("]", 1000) + "\nreturn 1",
		"blocks":    strings.Repeat("{\n", 500) + strings.Repeat("}", 500) + "\nreturn 1",
	} {
		for _, cell := range []wire.Cell{js(source), ts(source)} {
			w := acquire(t, p, "")
			if r := start(t, w, cell, nil); r.Status != wire.StatusDone || string(r.Value) != "1" {
				t.Errorf("%s in %s: %+v", name, cell.Language, r.Err)
			}
			p.Release(w)
		}
	}
	const depth = 20
	deep := strings.Repeat("(() => { 'é😀';\n", depth) + "  null.x" + strings.Repeat("})()", depth)
	for _, cell := range []wire.Cell{js(deep), ts(strings.Replace(deep, "null", "(null as any)", 1))} {
		w := acquire(t, p, "")
		r := start(t, w, cell, nil)
		if r.Err == nil || !strings.HasPrefix(strings.SplitAfter(places(r.Err.Stack), " ")[0], "cell."+cell.Language[:1]+"s:21:") {
			t.Errorf("%s: %+v", cell.Language, r.Err)
		}
		p.Release(w)
	}
}

// places returns the positions of a stack.
func places(stack string) string {
	var out []string
	for line := range strings.Lines(stack) {
		at := strings.Index(line, "cell.")
		out = append(out, strings.Trim(line[at:], ")\n"))
	}
	return strings.Join(out, " ")
}

func TestAGuestCannotForgeItsStack(t *testing.T) {
	p := newPool(t, Config{})
	w := acquire(t, p, "")
	defer p.Release(w)
	r := start(t, w, js(`const e = new Error("x"); e.stack = "    at root (/etc/shadow:1:1)\n    at cell.js:1:1\nsecret"; throw e`), nil)
	if r.Err == nil || strings.Contains(r.Err.Stack, "shadow") || strings.Contains(r.Err.Stack, "secret") {
		t.Errorf("error %+v", r.Err)
	}
}
