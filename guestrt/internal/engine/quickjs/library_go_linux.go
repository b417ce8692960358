//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"fmt"

	lib "modernc.org/libquickjs"
)

// natives are the functions of the object the prelude reaches the engine through.
var natives = []struct {
	name string
	hook hook
	args int32
}{
	{"file", hookFile, 1},
	{"error", hookError, 2},
	{"extra", hookExtra, 1},
	{"random", hookRandom, 3},
	{"utf8", hookUTF8, 3},
	{"url", hookURL, 4},
}

// create makes the runtime and the context in the fresh arena.
func (l *library) create(c *control) (js, error) {
	tls := l.tls
	c.rt = lib.XJS_NewRuntime2(tls, mallocTable(), arenaBase)
	if c.rt == 0 {
		return js{}, fmt.Errorf("quickjs: open: no memory for the runtime")
	}
	c.ctx = lib.XJS_NewContext(tls, c.rt)
	if c.ctx == 0 {
		return js{}, fmt.Errorf("quickjs: open: no memory for the context")
	}
	lib.XJS_SetMaxStackSize(tls, c.rt, stackSlots)
	lib.XJS_SetCanBlock(tls, c.rt, 0)
	lib.XJS_SetInterruptHandler(tls, c.rt, funcAddr(hookInterrupt), 0)
	lib.XJS_SetHostPromiseRejectionTracker(tls, c.rt, funcAddr(hookRejection), 0)
	lib.XJS_SetModuleLoaderFunc(tls, c.rt, 0, funcAddr(hookModule), 0)
	c.watchErrors()
	return l.js(c), l.repair(c)
}

// nativeObject makes the object the prelude reaches the engine through.
func (j js) nativeObject(c *control) (native value, ok bool) {
	native = cooked(lib.XJS_NewObjectProto(j.tls, j.ctx, raw(null)))
	c.rejections = cooked(lib.XJS_NewArray(j.tls, j.ctx))
	ok = !isException(native) && !isException(c.rejections) &&
		lib.XJS_SetPrototype(j.tls, j.ctx, raw(c.rejections), raw(null)) >= 0 && j.put(native, "rejections", j.dup(c.rejections))
	for _, n := range natives {
		f := j.newFunction(n.name, n.hook, n.args)
		ok = ok && !isException(f) && j.put(native, n.name, f)
	}
	return native, ok
}
