//go:build linux && (amd64 || arm64)

package quickjs

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

// loadRaw loads an expression as it is, without the wrapper.
func loadRaw(t *testing.T, e *Engine, expr string) wire.Report {
	t.Helper()
	vm := newVM(t, e, engine.Options{})
	defer discard(t, vm)
	r, err := vm.Load(engine.Cell{Source: []byte(expr), FileName: "cell.js", Config: []byte("{}")}, soon())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSyntaxErrorsAreInvalidInput(t *testing.T) {
	e := openTest(t)
	for src, line := range map[string]string{
		"return 1 +":                  "cell.js:",
		"let a;\nlet a;":              "cell.js:2",
		"\n\nfoo bar":                 "cell.js:3:",
		"await 1; yield* *":           "cell.js:1:",
		"return `${":                  "cell.js:",
		"import x from 'y'":           "cell.js:1:",
		"\"use strict\"; with (a) {}": "cell.js:1:",
	} {
		r := run(t, e, engine.Options{}, src)
		if r.Status != wire.StatusFailed || r.Err.Code != codeInput || r.Err.Reason != reasonSyntax || r.Err.Phase != phaseInput ||
			r.Err.Name != "SyntaxError" || r.Err.Message == "" || !strings.Contains(r.Err.Stack, line) {
			t.Errorf("%q: %+v", src, r.Err)
		}
	}
	for _, expr := range []string{"1", "({})", "(async()=>{}, 2)", ""} {
		if r := loadRaw(t, e, expr); r.Err == nil || r.Err.Code != codeInput {
			t.Errorf("%q: %+v", expr, r.Err)
		}
	}
}

// TestHostileErrorsAreDescribed: what is thrown where no prelude stands in
// between is described without running guest code, and bounded.
func TestHostileErrorsAreDescribed(t *testing.T) {
	e := openTest(t)
	for expr, want := range map[string]string{
		`{ throw new TypeError('plain') }`: "TypeError: plain",
		`{ throw new TypeError }`:          "TypeError: ",
		`{ class Custom extends RangeError { get name() { text('ran'); return 'x' } } throw new Custom('c') }`: "RangeError: c",
		`{ throw 'text' }`:                        "Error: text",
		`{ throw 42 }`:                            "Error: 42",
		`{ throw 12n ** 3n }`:                     "Error: 1728",
		`{ throw null }`:                          "Error: null",
		`{ throw undefined }`:                     "Error: undefined",
		`{ throw Symbol('s') }`:                   "Error: a symbol was thrown",
		`{ throw { toString() { for (;;) ; } } }`: "Error: an object was thrown",
		`{ throw { get message() { for (;;) ; }, get name() { for (;;) ; }, get stack() { for (;;) ; } } }`:                                             "Error: an object was thrown",
		`{ throw { message: { toString() { for (;;) ; } }, name: Symbol() } }`:                                                                          "Error: an object was thrown",
		`{ const p = Proxy.revocable({}, {}); p.revoke(); throw p.proxy }`:                                                                              "Error: an object was thrown",
		`{ throw new Proxy(new Error('inner'), { get() { for (;;) ; }, getPrototypeOf() { for (;;) ; }, getOwnPropertyDescriptor() { for (;;) ; } }) }`: "Error: an object was thrown",
		`{ const e = new Error('m'); Object.setPrototypeOf(e, new Proxy({}, { get() { for (;;) ; }, getPrototypeOf() { for (;;) ; } })); throw e }`:     "Error: m",
		`{ const e = new Error('m'); Object.defineProperty(e, 'message', { get() { for (;;) ; } }); throw e }`:                                          "Error: ",
		`{ Error.prototype.name = 'X'; throw new Error('renamed') }`:                                                                                    "X: renamed",
		`{ throw Object.create(null) }`: "Error: an object was thrown",
		`{ throw () => {} }`:            "Error: an object was thrown",
		`{ throw Object.assign(new Error('\ud800 half'), { name: 'N' }) }`: "N: \uFFFD half",
	} {
		r := loadRaw(t, e, "(() => "+expr+")()")
		if r.Err == nil || r.Err.Code != codeInternal || r.Err.Reason != reasonException || r.Err.Phase != phaseGuest {
			t.Errorf("%s: %+v", expr, r)
			continue
		}
		got := r.Err.Name + ": " + r.Err.Message
		if !strings.HasPrefix(expr, `{ throw () =>`) && got != want || !utf8.ValidString(got+r.Err.Stack) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
		if len(r.Output) != 0 {
			t.Errorf("%s: guest code ran", expr)
		}
	}
	r := loadRaw(t, e, `(() => { const e = new Error('ü'.repeat(1 << 20)); e.name = 'n'.repeat(1 << 20); e.stack = 's'.repeat(1 << 20); throw e })()`)
	if len(r.Err.Message) > maxErrorMessage || len(r.Err.Name) > maxErrorName || len(r.Err.Stack) > maxErrorStack || !utf8.ValidString(r.Err.Message) {
		t.Errorf("unbounded: %d %d %d", len(r.Err.Name), len(r.Err.Message), len(r.Err.Stack))
	}
	if r := loadRaw(t, e, `(() => { Error.prototype.toString = String.prototype.toString = () => { for (;;) ; }; throw 'x' })()`); r.Err == nil || r.Err.Message != "x" {
		t.Errorf("patched toString: %+v", r.Err)
	}
}

func TestFilesAreServedSynchronously(t *testing.T) {
	e := openTest(t)
	var asked []string
	files := func(path string) ([]byte, bool) {
		asked = append(asked, path)
		return []byte("<" + path + " ünï>"), path != "missing"
	}
	r := run(t, e, engine.Options{Files: files}, `return [readFile('a'), readFile('missing') === undefined, readFile(1) === undefined, readFile() === undefined]`)
	if got := mustValue(t, r); got != `["<a ünï>",true,true,true]` || len(asked) != 2 {
		t.Errorf("%s, asked for %q", got, asked)
	}
	if r := run(t, e, engine.Options{}, `return readFile('a') === undefined`); string(r.Value) != "true" {
		t.Errorf("without files: %s", r.Value)
	}
	if r := run(t, e, engine.Options{Files: files}, `return readFile('x'.repeat(1 << 20)).length < 2000`); string(r.Value) != "true" {
		t.Errorf("a long path: %s", r.Value)
	}
}

func TestModulesAreRefused(t *testing.T) {
	e := openTest(t)
	for _, src := range []string{
		`import('std')`, `import('./x.js')`, `new Function("return import('os')")()`, `eval("import('fs')")`,
		`(0, eval)("import('fs')")`, `(0, eval)("(() => import('fs'))()")`,
	} {
		r := run(t, e, engine.Options{}, `try { await `+src+`; return 'loaded' } catch (e) { return e.name + ': ' + e.message }`)
		if got := mustValue(t, r); got != `"TypeError: code mode module access is disabled."` {
			t.Errorf("%s: %s", src, got)
		}
	}
	r := run(t, e, engine.Options{}, `return ['std', 'os', 'require', 'process', 'Worker', 'scriptArgs', 'print'].filter(n => n in globalThis)`)
	if string(r.Value) != "[]" {
		t.Errorf("globals %s", r.Value)
	}
}

func TestUnhandledRejectionsReachThePrelude(t *testing.T) {
	e := openTest(t)
	for src, fails := range map[string]bool{
		`Promise.reject(new Error('lost')); return 1`:                                                  true,
		`(async () => { throw new Error('lost') })(); return 1`:                                        true,
		`const p = Promise.reject(new Error('kept')); p.catch(() => {}); return 1`:                     false,
		`const p = Promise.reject(new Error('late')); await null; p.catch(() => {}); return 1`:         false,
		`const p = Promise.reject(new Error('x')); await tools.call('a'); p.catch(() => {}); return 1`: false,
	} {
		r := straight(t, e, src)
		if (r.Status == wire.StatusFailed) != fails {
			t.Errorf("%s: status %d, %+v", src, r.Status, r.Err)
		}
	}
	// Patched prototypes see nothing of the list.
	r := run(t, e, engine.Options{}, `
		let saw = 0;
		for (const k of ['0', '1', '2', 'length']) try { Object.defineProperty(Object.prototype, k, { set() { saw++ }, get() { saw++ }, configurable: true }) } catch {}
		Array.prototype.push = () => { saw++ };
		const p = Promise.reject(1); p.catch(() => {});
		return saw`)
	if string(r.Value) != "0" {
		t.Errorf("the guest saw %s accesses, %+v", r.Value, r.Err)
	}
}

// TestSettlementsCarryAnyJSON: values cross unchanged, rejections as errors.
func TestSettlementsCarryAnyJSON(t *testing.T) {
	e := openTest(t)
	big := `"` + strings.Repeat("é", 1<<20) + `"`
	for _, v := range []string{`null`, `0`, `-1.5e+300`, `""`, `"\u0000\ud800"`, `[]`, `{"__proto__":1,"a":[{}]}`, `[[[[[[]]]]]]`, big} {
		vm := newVM(t, e, engine.Options{})
		load(t, vm, `return await tools.call('a')`)
		got := mustValue(t, turn(t, vm, wire.Settlement{ID: 1, OK: true, JSON: []byte(v)}))
		if got != v {
			t.Errorf("%.60s came back as %.60s", v, got)
		}
		discard(t, vm)
	}
	vm := newVM(t, e, engine.Options{})
	load(t, vm, `try { await tools.call('a') } catch (e) { return [e instanceof Error, e.message, e.code] }`)
	j, err := json.Marshal(wire.CallError{Message: "no", Code: "denied"})
	if err != nil {
		t.Fatal(err)
	}
	if got := mustValue(t, turn(t, vm, wire.Settlement{ID: 1, JSON: j})); got != `[true,"no","denied"]` {
		t.Errorf("rejection: %s", got)
	}
	discard(t, vm)
}

func TestReportCarriesRequestsInOrder(t *testing.T) {
	e := openTest(t)
	vm := newVM(t, e, engine.Options{})
	defer discard(t, vm)
	r := load(t, vm, `for (let i = 0; i < 1000; i++) tools.call('t' + i, { i }); text('one'); yield_control('rest'); text('two'); await new Promise(() => {})`)
	if len(r.Requests) != 1001 || r.Pending != 1001 || len(r.Output) != 2 {
		t.Fatalf("%d requests, %d pending, %d outputs", len(r.Requests), r.Pending, len(r.Output))
	}
	for i, q := range r.Requests {
		if q.ID != uint64(i+1) {
			t.Fatalf("request %d has id %d", i, q.ID)
		}
	}
	if q := r.Requests[1000]; q.Method != wire.MethodYield || q.Target != "rest" {
		t.Errorf("last request %+v", q)
	}
	if r = turn(t, vm); len(r.Requests) != 0 || len(r.Output) != 0 || r.Pending != 1001 {
		t.Errorf("second report %+v", r)
	}
}
