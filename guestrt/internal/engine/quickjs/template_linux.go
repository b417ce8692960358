//go:build linux && (amd64 || arm64)

package quickjs

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

const (
	preludeName = "quoin:prelude"

	// stackSlots bounds the guest's recursion, counted in the engine's own
	// frames: about as deep as native QuickJS with a 1 MiB stack.
	stackSlots = 5000

	// templateSeed is the state of Math.random in the template. Every VM
	// gets its own before guest code runs.
	templateSeed = 1
)

// buildTemplate initialises the engine and the prelude in the fresh arena and
// leaves it in a state that is the same in every process of one build, but for
// padding that nothing reads.
func buildTemplate(tls *libc.TLS, reserve uint64, prelude string) error {
	c := ctl()
	c.magic = controlMagic
	c.heap.init(arenaBase+controlSize, arenaBase+uintptr(reserve), reserve)
	c.full = reserve
	v := &vm{js: js{tls: tls}}
	return v.guard(func() error {
		if err := v.initEngine(c); err != nil {
			return err
		}
		if err := v.initPrelude(c, prelude); err != nil {
			return err
		}
		if err := v.runJobs(); err != nil {
			return err
		}
		c.finishTemplate(v.js)
		return nil
	})
}

// initEngine creates the QuickJS runtime and context and registers the hooks.
func (v *vm) initEngine(c *control) error {
	tls := v.js.tls
	rt := lib.XJS_NewRuntime2(tls, mallocTable(), arenaBase)
	if rt == 0 {
		return fmt.Errorf("quickjs: open: no memory for the runtime")
	}
	c.rt, v.js.rt = rt, rt
	ctx := lib.XJS_NewContext(tls, rt)
	if ctx == 0 {
		return fmt.Errorf("quickjs: open: no memory for the context")
	}
	c.ctx, v.js.ctx = ctx, ctx
	lib.XJS_SetMaxStackSize(tls, rt, stackSlots)
	lib.XJS_SetCanBlock(tls, rt, 0)
	lib.XJS_SetInterruptHandler(tls, rt, funcAddr(hookInterrupt), 0)
	lib.XJS_SetHostPromiseRejectionTracker(tls, rt, funcAddr(hookRejection), 0)
	lib.XJS_SetModuleLoaderFunc(tls, rt, 0, funcAddr(hookModule), 0)
	c.cell = undefined
	c.watchErrors()
	return nil
}

// initPrelude evaluates the prelude, hands it its native functions and keeps
// its entry functions.
func (v *vm) initPrelude(c *control, src string) error {
	j := v.js
	install := j.evalPrelude(src, preludeName)
	if isException(install) {
		return fmt.Errorf("quickjs: open: prelude: %w", v.thrownError())
	}
	native, err := v.nativeObject(c)
	if err != nil {
		return err
	}
	entry := j.call(install, native)
	j.free(native)
	j.free(install)
	if isException(entry) {
		return fmt.Errorf("quickjs: open: prelude: %w", v.thrownError())
	}
	defer j.free(entry)
	for _, f := range []struct {
		name string
		slot *lib.TJSValue
	}{{"start", &c.start}, {"settle", &c.settle}, {"fire", &c.fire}, {"drain", &c.drain}} {
		*f.slot = j.get(entry, f.name)
		if lib.XJS_IsFunction(j.tls, j.ctx, *f.slot) == 0 {
			return fmt.Errorf("quickjs: open: the prelude has no function %s", f.name)
		}
	}
	return nil
}

// evalPrelude evaluates a script of the prelude's. To the guest its functions look
// native, their frames are hidden, and their text takes no memory.
func (j js) evalPrelude(src, name string) lib.TJSValue {
	lib.XJS_SetStripInfo(j.tls, j.rt, lib.MJS_STRIP_SOURCE)
	code := j.compile([]byte(src), name)
	lib.XJS_SetStripInfo(j.tls, j.rt, 0)
	if isException(code) {
		return code
	}
	hide(code)
	return j.evalCompiled(code)
}

// natives are the functions of the object the prelude reaches the engine through.
var natives = []struct {
	name string
	hook func(*libc.TLS, uintptr, lib.TJSValue, int32, uintptr) lib.TJSValue
	args int32
}{
	{"file", hookFile, 1},
	{"error", hookError, 2},
	{"extra", hookExtra, 1},
	{"random", hookRandom, 3},
	{"utf8", hookUTF8, 3},
	{"url", hookURL, 4},
}

// nativeObject makes the object the prelude reaches the engine through.
func (v *vm) nativeObject(c *control) (native lib.TJSValue, err error) {
	j := v.js
	native = lib.XJS_NewObjectProto(j.tls, j.ctx, null)
	c.rejections = lib.XJS_NewArray(j.tls, j.ctx)
	ok := !isException(native) && !isException(c.rejections) &&
		lib.XJS_SetPrototype(j.tls, j.ctx, c.rejections, null) >= 0 && j.put(native, "rejections", j.dup(c.rejections))
	for _, n := range natives {
		f := j.newFunction(n.name, n.hook, n.args)
		ok = ok && !isException(f) && j.put(native, n.name, f)
	}
	if !ok {
		return undefined, fmt.Errorf("quickjs: open: native object: %w", v.thrownError())
	}
	return native, nil
}

// finishTemplate brings the arena to its reproducible resting state.
func (c *control) finishTemplate(j js) {
	lib.XJS_RunGC(j.tls, j.rt)
	c.context().Frandom_state = templateSeed
	c.runtime().Fmalloc_gc_threshold = lib.Tsize_t(2 * c.heap.live)
	c.heap.crossings, c.kill = 0, 0
	c.heap.peak = c.heap.live
	c.settled = c.heap.live
	scrubPools(c.runtime())
	c.heap.eachFree(func(from, to uintptr) { clear(bytesAt(from, to-from)) })
	clear(bytesAt(c.heap.brk, uintptr(c.used())-(c.heap.brk-arenaBase)))
}

// used is the number of arena bytes in use, in whole pages.
func (c *control) used() uint64 { return roundPage(uint64(c.heap.brk - arenaBase)) }

// fingerprint identifies a template by what it was made of and how its heap
// came out. It is no hash of the bytes: QuickJS leaves padding unwritten, and
// a block that is used again keeps stale stack addresses in it, which differ
// between processes and which nothing reads.
func (c *control) fingerprint(prelude string) [32]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%d\x00%s", engineID, len(prelude), prelude)
	words := []uint64{
		uint64(c.heap.start), uint64(c.heap.brk), uint64(c.heap.end), uint64(c.heap.last),
		c.heap.live, c.heap.blocks, uint64(c.rt), uint64(c.ctx),
	}
	for _, v := range []lib.TJSValue{c.start, c.settle, c.fire, c.drain, c.rejections} {
		words = append(words, uint64(pointer(v)))
	}
	if err := binary.Write(h, binary.LittleEndian, words); err != nil {
		panic("quickjs: hashing cannot fail: " + err.Error())
	}
	return [32]byte(h.Sum(nil))
}
