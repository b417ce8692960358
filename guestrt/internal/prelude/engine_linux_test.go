package prelude_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/guestrt/internal/engine/quickjs"
	"github.com/quoinhq/quoin/internal/wire"
)

// real is a guest in the engine that ships.
type real struct {
	t  *testing.T
	vm engine.VM
}

func options(limits wire.Limits) engine.Options {
	return engine.Options{Limits: limits, Files: func(path string) ([]byte, bool) {
		text, found := hostFiles[path]
		return []byte(text), found
	}}
}

// patience is far above what any cell here needs.
const patience = time.Minute

func newReal(t *testing.T, e engine.Engine, limits wire.Limits) *real {
	t.Helper()
	vm, err := e.New(options(limits))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := vm.Discard(); err != nil {
			t.Errorf("discarding the VM: %v", err)
		}
	})
	return &real{t, vm}
}

func (g *real) load(source, config string) turn {
	g.t.Helper()
	r, err := g.vm.Load(engine.Cell{Source: []byte(source), FileName: "cell.js", Config: []byte(config)}, time.Now().Add(patience))
	return g.convert(r, err)
}

func (g *real) turn(in []wire.Settlement) turn {
	g.t.Helper()
	r, err := g.vm.Turn(in, time.Now().Add(patience))
	return g.convert(r, err)
}

// wait does nothing: the clock is the machine's own.
func (g *real) wait(int64) {}

func (g *real) convert(r wire.Report, err error) turn {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
	out := turn{Status: r.Status, Value: string(r.Value), Requests: r.Requests, Pending: r.Pending, Timer: r.TimerMillis}
	if r.Err != nil {
		out.Err = &failure{Name: r.Err.Name, Message: r.Err.Message, Stack: r.Err.Stack}
	}
	for _, o := range r.Output {
		text, err := outputText(o)
		if err != nil {
			g.t.Fatal(err)
		}
		out.Output = append(out.Output, string(text))
	}
	return out
}

// openEngine opens the one engine of this process for the length of a test.
func openEngine(t *testing.T) *quickjs.Engine {
	t.Helper()
	e, err := quickjs.Open(quickjs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return e
}

// hopper is a guest that moves to a fresh VM between any two turns.
type hopper struct {
	real
	engine engine.Engine
}

func (g *hopper) turn(in []wire.Settlement) turn {
	g.t.Helper()
	image, err := g.vm.Snapshot(wire.MaxImage)
	if err != nil {
		g.t.Fatal(err)
	}
	if err := g.vm.Discard(); err != nil {
		g.t.Fatal(err)
	}
	g.vm, err = g.engine.Restore(image, options(wire.Limits{}))
	if err != nil {
		g.t.Fatal(err)
	}
	return g.real.turn(in)
}

// TestCellsAcrossSnapshots runs the cells with a snapshot before every turn:
// calls, timers and what the guest did to its built-ins move along.
func TestCellsAcrossSnapshots(t *testing.T) {
	e := openEngine(t)
	for file, cells := range readCells(t, "testdata/js/*.js") {
		for _, c := range cells {
			t.Run(file+"/"+c.name, func(t *testing.T) {
				g := &hopper{engine: e}
				g.real = real{t, nil}
				vm, err := e.New(options(wire.Limits{}))
				if err != nil {
					t.Fatal(err)
				}
				g.vm = vm
				t.Cleanup(func() {
					if err := g.vm.Discard(); err != nil {
						t.Errorf("discarding the VM: %v", err)
					}
				})
				c.check(t, g)
			})
		}
	}
}

// TestReportsOfHostileFailuresEnd: the deadline covers the getters that a
// failure report reads.
func TestReportsOfHostileFailuresEnd(t *testing.T) {
	e := openEngine(t)
	for _, source := range []string{
		"throw {get a() { for (;;); }}",
		"Promise.reject({get a() { for (;;); }})",
		"const e = new Error('x'); Object.defineProperty(e, 'message', {get() { for (;;); }}); Promise.reject(e)",
		"return {toJSON() { for (;;); }}",
		"return new Proxy([], {get: (t, k) => k === 'length' ? 2 ** 32 : (() => { for (;;); })()})[0]",
		"Object.defineProperty(Object.prototype, 'then', {get() { for (;;); }}); return {}",
	} {
		g := newReal(t, e, wire.Limits{})
		r, err := g.vm.Load(engine.Cell{Source: []byte("(async()=>{" + source + "\n})"), FileName: "cell.js", Config: []byte(`{}`)}, time.Now().Add(100*time.Millisecond))
		if err != nil || r.Err == nil || r.Err.Code != "timeout" {
			t.Errorf("%s: %v, %+v", source, err, r.Err)
		}
		if err := g.vm.Discard(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFailedCallPointsAtTheCall: the stack is the cell's, without the bridge.
func TestFailedCallPointsAtTheCall(t *testing.T) {
	g := newReal(t, openEngine(t), wire.Limits{})
	got := run(t, g, "const f = async () => {\n  await tools.call('fail')\n}\nawait f()", `{}`, false)
	if got.Err == nil || !strings.Contains(got.Err.Stack, "at f (cell.js:2:") || strings.Contains(got.Err.Stack, "prelude") {
		t.Errorf("failure %+v", got.Err)
	}
}

// TestStacksShowTheGuestOnly: wherever an error was made, its stack names the
// guest's own functions, and no function of the prelude.
func TestStacksShowTheGuestOnly(t *testing.T) {
	e := openEngine(t)
	for what, source := range map[string]string{
		"the cell":            "return (function f() { return new Error('x') })().stack",
		"a timer":             "return await new Promise((r) => setTimeout(function f() { r(new Error('x').stack) }, 0))",
		"a microtask":         "return await new Promise((r) => queueMicrotask(function f() { r(new Error('x').stack) }))",
		"toJSON":              "let s; json({toJSON: function f() { s = new Error('x').stack }}); return s",
		"a getter":            "let s; const o = {}; Object.defineProperty(o, 'p', {enumerable: true, get: function f() { s = new Error('x').stack }}); json(o); return s",
		"a wrong argument":    "try { (function f() { setTimeout(5) })() } catch (e) { return e.stack }",
		"a wrong call":        "return (await (function f() { return tools.call(5) })().catch((e) => e)).stack",
		"a call that fails":   "return (await (function f() { return tools.call('fail') })().catch((e) => e)).stack",
		"too much output":     "try { (function f() { for (;;) text('x') })() } catch (e) { return e.stack }",
		"a missing namespace": "try { (function f() { Missing.x })() } catch (e) { return e.stack }",
		"through apply":       "return (await (function f() { return Reflect.apply(tools.call, null, ['fail']) })().catch((e) => e)).stack",
	} {
		g := newReal(t, e, wire.Limits{})
		got := run(t, g, source, `{"namespaces":[["Missing","missing"]]}`, false)
		if got.Err != nil || !strings.HasPrefix(got.Value, `"    at f (cell.js:1:`) || strings.Contains(got.Value, "prelude") {
			t.Errorf("%s: %s, %+v", what, got.Value, got.Err)
		}
		if err := g.vm.Discard(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeepCallSitesCostLittle: the stack of a call's error is bounded, wherever
// the call was made.
func TestDeepCallSitesCostLittle(t *testing.T) {
	g := newReal(t, openEngine(t), wire.Limits{})
	got := run(t, g, "const f = (n) => n > 0 ? f(n - 1) : tools.call('fail'); return (await f(500).catch((e) => e)).stack.split('\\n').length", `{}`, false)
	if got.Value != "33" {
		t.Errorf("%s lines, %+v", got.Value, got.Err)
	}
}

// TestClonesDrawDifferentRandomness: two guests of one image, and one that
// keeps running, never share what crypto gives.
func TestClonesDrawDifferentRandomness(t *testing.T) {
	e := openEngine(t)
	source := `const draw = () => [crypto.randomUUID(), [...crypto.getRandomValues(new Uint32Array(2))].join()]
		const first = draw(); await tools.call("echo"); return [...first, ...draw()]`
	seeded := func(seed byte) engine.Options {
		o := options(wire.Limits{})
		o.Seed[0] = seed
		return o
	}
	vm, err := e.New(seeded(1))
	if err != nil {
		t.Fatal(err)
	}
	g := &real{t, vm}
	g.load("(async()=>{"+source+"\n})", `{}`)
	image, err := vm.Snapshot(wire.MaxImage)
	if err != nil {
		t.Fatal(err)
	}
	answer := []wire.Settlement{{ID: 1, OK: true, JSON: []byte("null")}}
	drawn := map[string]int{}
	note := func(value string) {
		var list []string
		if err := json.Unmarshal([]byte(value), &list); err != nil || len(list) != 4 {
			t.Fatalf("%s: %v", value, err)
		}
		for _, s := range list[2:] {
			drawn[s]++
		}
		drawn[list[0]], drawn[list[1]] = 1, 1
	}
	note(g.turn(answer).Value)
	for seed := byte(2); seed < 6; seed++ {
		if err := g.vm.Discard(); err != nil {
			t.Fatal(err)
		}
		if g.vm, err = e.Restore(image, seeded(seed)); err != nil {
			t.Fatal(err)
		}
		note(g.turn(answer).Value)
	}
	if err := g.vm.Discard(); err != nil {
		t.Fatal(err)
	}
	if len(drawn) != 12 {
		t.Errorf("five continuations of one image drew %d values, want 2 common ones and 10 of their own: %v", len(drawn), drawn)
	}
}

// TestCellsInEngine runs the same cells, and those that need the engine's own
// rejection tracker and limits, in the engine that ships.
func TestCellsInEngine(t *testing.T) {
	e := openEngine(t)
	for _, pattern := range []string{"testdata/js/*.js", "testdata/js/engine/*.js"} {
		for file, cells := range readCells(t, pattern) {
			for _, c := range cells {
				t.Run(file+"/"+c.name, func(t *testing.T) { c.check(t, newReal(t, e, wire.Limits{})) })
			}
		}
	}
}

func outputText(o wire.Output) ([]byte, error) {
	return json.Marshal([]any{o.Kind, json.RawMessage(o.JSON)})
}
