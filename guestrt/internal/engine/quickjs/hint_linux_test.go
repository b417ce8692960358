//go:build linux && (amd64 || arm64)

package quickjs

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// asked answers every question about an expression with the question.
func asked(path string) ([]byte, bool) {
	question, ok := strings.CutPrefix(path, hintFolder)
	return []byte(question), ok
}

// TestHints pins which expression the engine blames for an error of the
// program's, and what the guest finds in the error.
func TestHints(t *testing.T) {
	e := openWith(t, Config{BuildID: testBuild})
	const call = "TypeError: not a function"
	for _, c := range []struct{ program, want string }{
		{`tools.nosuch()`, call + `: call/["tools","nosuch"]`},
		{`tools["no such"]({a: (1)})`, call + `: call/["tools","no such"]`},
		{"tools\n  .nosuch\n  (1, 2)", call + `: call/["tools","nosuch"]`},
		{`"ä€𝄞".length; return 1 + tools.nosuch()`, call + `: call/["tools","nosuch"]`},
		{`(tools . nosuch)()`, call + `: call/["tools","nosuch"]`},
		{`new tools.nosuch()`, call + `: call/["tools","nosuch"]`},
		{"tools.nosuch`x`", call + `: call/["tools","nosuch"]`},
		{`tools?.nosuch(...[1])`, call + `: call/["tools","nosuch"]`},
		{`[...tools.nosuch()]`, call + `: call/["tools","nosuch"]`},
		{`(() => { (() => tools.nosuch())() })()`, call + `: call/["tools","nosuch"]`},
		{`tools.a.b.c()`, `TypeError: cannot read property 'b' of undefined: read/["tools","a"]`},
		{`tools.a["b"]`, `TypeError: ` + computedRead + `: read/["tools","a"]`},
		{`if (MCP.github.x) 1;`, `TypeError: cannot read property 'x' of undefined: read/["MCP","github"]`},
		{`Isues.list()`, `ReferenceError: 'Isues' is not defined: name/["Isues"]`},
		// The name of the method is asked for where the value is the program's own.
		{`const tools = {}; tools.nosuch()`, call + `: self/["nosuch"]`},
		{`const o = {tools: {}}; o.tools.nosuch()`, call + `: self/["nosuch"]`},
		{`(tools => tools.nosuch())({})`, call + `: self/["nosuch"]`},
		{`(() => { let tools = {}; return () => tools.nosuch() })()()`, call + `: self/["nosuch"]`},
		{`[tools][0].nosuch()`, call + `: self/["nosuch"]`},
		{`(await (async () => ({a: {}}))()).a["nosuch"]()`, call + `: self/["nosuch"]`},
		{`const o = {}; o.a.b`, `TypeError: cannot read property 'b' of undefined: field/["o","a"]`},
		// Nothing is said of what may be something else.
		{`const k = "nosuch"; tools[k]()`, call},
		{`(0, tools.nosuch)()`, call},
		{`[1].map(tools.nosuch)`, call},
		{`throw new TypeError("not a function");`, call},
		{`tools["a\u0062"]()`, call},
		// And these are no errors.
		{`typeof tools.nosuch`, `"undefined"`},
		{`"nosuch" in tools`, `false`},
		{`tools.nosuch?.()`, `null`},
		{`(await tools) === tools`, `true`},
		{`MCP.github ? 1 : 2`, `2`},
	} {
		program := c.program
		if !strings.Contains(program, ";") {
			program = "return await (" + program + ")"
		}
		for _, form := range []string{
			"%",
			"\n\n  %",
			"try { await caught() } catch (e) { return e.name + ': ' + e.message }; return await caught(); async function caught() {%}",
		} {
			vm := newVM(t, e, engine.Options{Files: asked})
			source := strings.Replace(form, "%", program, 1)
			if got := saidOf(load(t, vm, source)); got != c.want {
				t.Errorf("%s\n got %s\nwant %s", source, got, c.want)
			}
			sound(t)
			discard(t, vm)
		}
	}
}

// saidOf is what a finished program returned or failed with.
func saidOf(r wire.Report) string {
	if r.Status == wire.StatusFailed {
		return r.Err.Name + ": " + r.Err.Message
	}
	var s string
	if json.Unmarshal(r.Value, &s) == nil && strings.Contains(s, "Error: ") {
		return s
	}
	return string(r.Value)
}

// TestHintsAreBounded: a program cannot make the worker ask without end, and an
// error is an ordinary object whatever was added to it.
func TestHintsAreBounded(t *testing.T) {
	e := openWith(t, Config{BuildID: testBuild})
	questions := 0
	vm := newVM(t, e, engine.Options{Files: func(path string) ([]byte, bool) {
		if !strings.HasPrefix(path, hintFolder) {
			return nil, false
		}
		questions++
		return []byte(strings.Repeat("x", 2*maxHint)), true
	}})
	defer discard(t, vm)
	var program strings.Builder
	for range 3 {
		for i := range 2 * maxHints {
			program.WriteString("try { tools.a" + strconv.Itoa(i) + "() } catch (e) { last = e; longest = Math.max(longest, e.message.length) }\n")
		}
	}
	r := load(t, vm, "let last, longest = 0;\n"+program.String()+`
		const before = Object.getOwnPropertyNames(last).join();
		last.note = 1; delete last.note; Object.freeze(last);
		return [longest, before, Object.isFrozen(last), last instanceof TypeError, Object.keys(last).length, structuredClone(last).message === last.message]`)
	const want = `[1016,"message,stack",true,true,0,true]`
	if r.Status != wire.StatusDone || string(r.Value) != want || questions != maxHints {
		t.Errorf("got %s, %+v after %d questions; want %s after %d", r.Value, r.Err, questions, want, maxHints)
	}
	sound(t)
}

// TestHintsAfterRestore: the text of the program is in its image.
func TestHintsAfterRestore(t *testing.T) {
	e := openWith(t, Config{BuildID: testBuild})
	vm := newVM(t, e, engine.Options{Files: asked})
	r := load(t, vm, "const r = await tools.call('a');\nreturn tools.nosuch(r)")
	img, err := vm.Snapshot(wire.MaxImage)
	if err != nil {
		t.Fatal(err)
	}
	discard(t, vm)
	if vm, err = e.Restore(img, engine.Options{Files: asked}); err != nil {
		t.Fatal(err)
	}
	defer discard(t, vm)
	r = turn(t, vm, wire.Settlement{ID: r.Requests[0].ID, OK: true, JSON: []byte(`1`)})
	if got, want := saidOf(r), `TypeError: not a function: call/["tools","nosuch"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzMemberPath reads expressions off texts that guests write.
func FuzzMemberPath(f *testing.F) {
	for _, s := range []string{"tools.nosuch", `a["b"]`, "(a?.b)", "...a.b", "a\n.b", "x).y", "#a.b", "a[`${b}`]", "1.a"} {
		f.Add([]byte(s), 1, 1)
	}
	f.Fuzz(func(t *testing.T, text []byte, line, col int) {
		if at, ok := offsetOf(text, line%1000, col%1000); ok && at > len(text) {
			t.Fatalf("offset %d of %d", at, len(text))
		}
		path, ok := memberPath(text)
		if ok != (len(path) > 0) || len(path) > maxMembers {
			t.Fatalf("%q, %v", path, ok)
		}
		if name, ok := methodName(text); ok && (name == "" && !bytes.ContainsAny(text, "\"'`") || len(name) > maxMember) {
			t.Fatalf("%q, %v", name, ok)
		}
		firstPlace(string(text))
		if kind, known := mistakeIn(string(text)); known != (kind != "") {
			t.Fatalf("kind %q, %v", kind, known)
		}
	})
}
