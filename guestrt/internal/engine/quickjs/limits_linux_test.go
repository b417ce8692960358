//go:build linux && (amd64 || arm64)

package quickjs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
	"github.com/quoinhq/quoin/internal/wire"
)

const testMemory = 8 << 20

func memoryOf(n uint64) engine.Options {
	return engine.Options{Limits: wire.Limits{MemoryBytes: n}}
}

func wantCode(t *testing.T, what string, r wire.Report, code string) {
	t.Helper()
	if r.Status != wire.StatusFailed || r.Err == nil || r.Err.Code != code {
		t.Errorf("%s: want %s, got status %d, value %.80s, error %+v", what, code, r.Status, r.Value, r.Err)
	}
}

const fill = `const hoard = []; const grow = () => { for (let i = 0;; i++) hoard.push(new Array(100).fill(i)); };`

func TestOutOfMemoryIsCatchableOnce(t *testing.T) {
	e := openTest(t)
	r := run(t, e, memoryOf(testMemory), fill+`try { grow() } catch (e) { hoard.length = 0; return [e.name, e.message] }`)
	if string(r.Value) != `["InternalError","out of memory"]` {
		t.Errorf("first crossing: %s %+v", r.Value, r.Err)
	}
	if r.HeapPeakBytes > testMemory || r.HeapPeakBytes < testMemory*9/10 {
		t.Errorf("a peak of %d bytes under a limit of %d", r.HeapPeakBytes, testMemory)
	}
	r = run(t, e, memoryOf(testMemory), fill+`for (;;) { try { grow() } catch { hoard.length = 0 } }`)
	wantCode(t, "catching for ever", r, codeMemory)
	if r.HeapPeakBytes > testMemory {
		t.Errorf("a peak of %d bytes under a limit of %d", r.HeapPeakBytes, testMemory)
	}
}

func TestMemoryLimitEndsTheGuest(t *testing.T) {
	e := openWith(t, Config{})
	for _, src := range []string{
		fill + `grow()`,
		`text('before'); return new ArrayBuffer(1 << 30)`,
		`const a = []; for (;;) a.push('y'.repeat(100_000))`,
		`let a = []; for (;;) a = [a, a.slice(), {}]`,
		`const m = new Map(); for (let i = 0;; i++) m.set(i, {})`,
		`const a = []; for (let b = 3n ** 10_000n;; b += 1n) a.push(b)`,
		fill + `await 0; await tools.call; grow()`,
		fill + `await Promise.resolve().then(grow)`,
		fill + `await new Promise((_, no) => setTimeout(() => { try { grow() } catch (e) { no(e) } }, 0))`,
	} {
		r := run(t, e, memoryOf(testMemory), src)
		wantCode(t, src, r, codeMemory)
		if r.HeapPeakBytes > testMemory {
			t.Errorf("%s: a peak of %d bytes", src, r.HeapPeakBytes)
		}
	}
}

// TestNoMemoryForTheError: a second crossing is the end by memory also where the engine,
// which then has none for an error either, throws null.
func TestNoMemoryForTheError(t *testing.T) {
	e := openWith(t, Config{})
	for n := range uint64(16) {
		r := run(t, e, memoryOf(testMemory+n<<10), `for (;;) { Promise.reject(1); await null }`)
		wantCode(t, "rejections without end", r, codeMemory)
	}
}

// TestNoMemoryForAJob: a program that waits for a promise which no job is left to settle,
// because there was no memory for one, has run out of memory.
func TestNoMemoryForAJob(t *testing.T) {
	e := openWith(t, Config{})
	for _, src := range []string{
		`const f = () => Promise.resolve().then(f); await f()`,
		`const f = async () => { await null; return f() }; await f()`,
		`const f = () => new Promise(r => queueMicrotask(() => r(f()))); await f()`,
		`const f = () => Promise.all([0]).then(f); await f()`,
		`const f = () => Promise.reject(1).catch(f); await f()`,
		`try { ` + fill + `grow() } catch {} await new Promise(() => {})`,
	} {
		for n := range uint64(4) {
			r := run(t, e, memoryOf(2<<20+n<<8), src)
			wantCode(t, src, r, codeMemory)
		}
	}
	if r := run(t, e, memoryOf(testMemory), `await new Promise(() => {})`); r.Status != wire.StatusIdle {
		t.Errorf("a promise that nothing settles: %+v", r)
	}
}

// TestForgedOutOfMemoryIsAnException: only a real crossing is reported as one.
func TestForgedOutOfMemoryIsAnException(t *testing.T) {
	e := openTest(t)
	r := run(t, e, engine.Options{}, `throw new InternalError('out of memory')`)
	wantCode(t, "forged", r, codeInternal)
	if r.Err.Reason != reasonException {
		t.Errorf("reason %q", r.Err.Reason)
	}
}

// TestCyclicGarbageIsNotTheLimit: garbage in cycles is collected before the
// limit is crossed.
func TestCyclicGarbageIsNotTheLimit(t *testing.T) {
	e := openTest(t)
	r := run(t, e, memoryOf(testMemory), `
		const live = []; for (let i = 0; i < 30_000; i++) live.push({ i });
		for (let i = 0; i < 200_000; i++) { const a = { i }, b = { a }; a.b = b; }
		return live.length`)
	if string(r.Value) != "30000" {
		t.Errorf("%s %+v, peak %d", r.Value, r.Err, r.HeapPeakBytes)
	}
}

func TestRestoreAppliesTheLimit(t *testing.T) {
	e := openTest(t)
	const src = `await tools.call('a'); return new Uint8Array(20 << 20).length`
	for limit, ok := range map[uint64]bool{testMemory: false, 64 << 20: true, 0: false} {
		vm := newVM(t, e, memoryOf(10<<20))
		load(t, vm, src)
		img, err := vm.Snapshot(wire.MaxImage)
		if err != nil {
			t.Fatal(err)
		}
		discard(t, vm)
		if vm, err = e.Restore(img, memoryOf(limit)); err != nil {
			t.Fatal(err)
		}
		r := turn(t, vm, wire.Settlement{ID: 1, OK: true, JSON: []byte("1")})
		if (r.Status == wire.StatusDone) != ok {
			t.Errorf("limit %d: %+v", limit, r.Err)
		}
		discard(t, vm)
	}
}

func TestImpossibleLimitsAreRefused(t *testing.T) {
	e := openTest(t)
	for _, n := range []uint64{1, 100 << 10, 1<<30 + 1<<28, 1 << 62} {
		if _, err := e.New(memoryOf(n)); !errors.Is(err, engine.ErrLimits) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	discard(t, newVM(t, e, memoryOf(1<<30)))
}

func TestStackOverflowIsCatchable(t *testing.T) {
	e := openWith(t, Config{})
	for _, src := range []string{
		`const f = () => f() + 1; f()`,
		`const o = { get x() { return this.x } }; o.x`,
		`const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x`,
		`const f = () => [1].forEach(f); f()`,
		`const f = () => 'x'.replace(/x/, f); f()`,
		`function* g() { yield* g() } [...g()]`,
		`class A { constructor() { new A() } } new A()`,
		`const o = { toString() { return '' + this } }; '' + o`,
		`const f = async () => { await f() }; await f()`,
		`const a = []; a[0] = a; let s = '['.repeat(100_000); JSON.parse(s)`,
		`eval('('.repeat(100_000))`,
		`new RegExp('('.repeat(100_000))`,
	} {
		r := run(t, e, engine.Options{}, `try { `+src+` } catch (e) { return String(e.message).includes('overflow') || e.name }`)
		if got := string(r.Value); r.Status != wire.StatusDone || got != "true" && got != `"SyntaxError"` {
			t.Errorf("%s: %s %+v", src, r.Value, r.Err)
		}
	}
	r := run(t, e, engine.Options{}, `const f = () => f() + 1; f()`)
	wantCode(t, "uncaught", r, codeInternal)
	if !strings.Contains(r.Err.Message, "stack overflow") {
		t.Errorf("message %q", r.Err.Message)
	}
}

func TestDeadlineInterrupts(t *testing.T) {
	interrupts(t, openWith(t, Config{}), []string{
		`for (;;) ;`,
		`while (true) { try { for (;;) ; } catch {} finally { continue } }`,
		`const f = async () => { for (;;) { try { for (;;) ; } catch {} } }; await f()`,
		`await null; for (;;) ;`,
		`const f = () => Promise.resolve().then(f); f(); await new Promise(() => {})`,
		`for (;;) await null`,
		`new Promise((_, reject) => { for (;;) ; })`,
		`[1, 2, 3].sort(() => { for (;;) ; })`,
		`const o = { then(f) { f(o) } }; await o`,
		`return { toJSON() { for (;;) ; } }`,
		`eval('for (;;) ;')`,
		`function* g() { for (;;) yield 1 } for (const x of g()) ;`,
		`eval(''.padEnd(1 << 20, '1+') + '1'); for (;;) ;`,
	})
}

// TestTimerFloodIsInterrupted: timers that are always due do not outlast the
// deadline.
func TestTimerFloodIsInterrupted(t *testing.T) {
	interrupts(t, openTest(t), []string{
		`const f = () => { setTimeout(f, 0) }; f(); await new Promise(() => {})`,
		`const f = () => { setTimeout(f, -1); setTimeout(f, -1); const end = Date.now() + 1; while (Date.now() < end) ; }; f(); await new Promise(() => {})`,
		`await new Promise(f => setTimeout(() => { for (;;) ; }, 0))`,
	})
}

// interrupts runs programs that never end and checks how they are ended.
func interrupts(t *testing.T, e *Engine, programs []string) {
	t.Helper()
	for _, src := range programs {
		vm := newVM(t, e, engine.Options{})
		r, err := vm.Load(cell(`text('before'); `+src), time.Now().Add(20*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		wantCode(t, src, r, codeTimeout)
		if len(r.Output) != 1 || string(r.Output[0].JSON) != `"before"` {
			t.Errorf("%s: output %v was lost", src, r.Output)
		}
		if _, err := vm.Snapshot(wire.MaxImage); !errors.Is(err, engine.ErrDead) {
			t.Errorf("%s: an interrupted guest gave an image: %v", src, err)
		}
		discard(t, vm)
	}
}

func TestDeadlineAppliesToEachTurn(t *testing.T) {
	e := openTest(t)
	vm := newVM(t, e, engine.Options{})
	load(t, vm, `await tools.call('a'); for (;;) ;`)
	r, err := vm.Turn([]wire.Settlement{{ID: 1, OK: true, JSON: []byte("1")}}, time.Now().Add(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "turn", r, codeTimeout)
	if _, err := vm.Turn(nil, soon()); !errors.Is(err, engine.ErrDead) {
		t.Errorf("a turn after the end: %v", err)
	}
	discard(t, vm)

	vm = newVM(t, e, engine.Options{})
	r, err = vm.Load(cell(`return 1`), time.Now().Add(-time.Second))
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a deadline in the past", r, codeTimeout)
	discard(t, vm)
}

// TestWantOfMemoryIsToldFromABug: what the translated C says when the system has no
// memory for it, and what we say.
func TestWantOfMemoryIsToldFromABug(t *testing.T) {
	e := openTest(t)
	for name, c := range map[string]struct {
		deed func(js)
		want error
	}{
		"the library":    {wantMemory, engine.ErrMemory},
		"our own copies": {func(js) { panic(engine.ErrMemory) }, engine.ErrMemory},
		"a bug":          {func(js) { panic("index out of range") }, engine.ErrDead},
	} {
		vm := newVM(t, e, engine.Options{}).(*vm)
		if err := vm.guard(func() error { c.deed(vm.js); return nil }); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		discard(t, vm)
	}
}
