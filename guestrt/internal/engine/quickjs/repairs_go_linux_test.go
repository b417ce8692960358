//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"fmt"
	"testing"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// TestRefusalsEndTheGuestInFrailFunctions: where QuickJS does not survive a refused
// allocation, the guest ends at its limit, and the next one starts as ever.
func TestRefusalsEndTheGuestInFrailFunctions(t *testing.T) {
	e := openTest(t)
	prologue := readTestdata(t, "safety/prologue.txt")
	for name, f := range map[string]string{
		"a stack":              "const deep = n => n ? deep(n - 1) : null.x; within(room, () => deep(20))",
		"a regular expression": "within(room, () => new RegExp('(a|b|c|dd|(e|f)|[g-z])+'.repeat(9)))",
	} {
		ended := 0
		for room := 0; room < 6000; room += blockAlign {
			var s scarcity
			r := run(t, e, engine.Options{Files: s.file}, fmt.Sprintf("%s\nconst room = %d; %s; return 'went on'", prologue, room, f))
			switch {
			case r.Status == wire.StatusFailed && r.Err.Code == codeMemory:
				ended++
			case string(r.Value) != `"went on"`:
				t.Fatalf("%s, room %d: %s %+v", name, room, r.Value, r.Err)
			}
		}
		if ended == 0 {
			t.Errorf("%s: no refusal ended the guest", name)
		}
	}
}

// TestReplacedFunctionsLookBuiltIn: a program cannot tell them from what they replace.
func TestReplacedFunctionsLookBuiltIn(t *testing.T) {
	r := run(t, openTest(t), engine.Options{}, `
		const look = (o, k) => { const d = Object.getOwnPropertyDescriptor(o, k), f = d.value;
			return [d.writable, d.enumerable, d.configurable, f.name, f.length, String(f).includes('[native code]'),
				Object.getOwnPropertyNames(f).sort(), Object.getPrototypeOf(f) === Function.prototype, 'prototype' in f, Object.keys(o)] };
		const same = JSON.stringify(look(JSON, 'stringify').toSpliced(3, 2)) === JSON.stringify(look(JSON, 'parse').toSpliced(3, 2));
		let refused; try { new JSON.stringify() } catch (e) { refused = e.name }
		return [same, JSON.stringify.name, JSON.stringify.length, refused, JSON.stringify() === undefined, JSON.stringify([1], undefined, 1), Reflect.ownKeys(JSON).filter(k => k === 'stringify').length]`)
	if got, want := mustValue(t, r), `[true,"stringify",3,"TypeError",true,"[\n 1\n]",1]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
