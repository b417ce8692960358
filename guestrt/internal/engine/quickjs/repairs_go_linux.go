//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// What QuickJS does wrong with memory is repaired here where that can be done from
// outside. The native engine has patches instead: package main of quoin-native.

// frail are functions of QuickJS that misuse memory after an allocation in them was
// refused: the writer of stacks frees the error it writes to, the compiler of regular
// expressions writes behind its code.
var frail = []string{"_build_backtrace", "Xlre_compile"}

// refused is called when an allocation is to fail. Inside a frail function it ends
// the guest instead.
func (c *control) refused() {
	c.crossed()
	if inFrail() {
		c.kill = 1
		panic(errRefusal)
	}
}

// inFrail reports whether a frail function runs, and no guest code that it called.
func inFrail() bool {
	var pcs [64]uintptr
	for skip := 3; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var f runtime.Frame
			f, more = frames.Next()
			name, ok := strings.CutPrefix(f.Function, "modernc.org/libquickjs.")
			if !ok {
				continue
			}
			if name == "_JS_CallInternal" {
				return false
			}
			for _, bad := range frail {
				if name == bad {
					return true
				}
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// repair replaces built-in functions by ones that do the same without the fault.
func (l *library) repair(c *control) error {
	j := l.js(c)
	global := cooked(lib.XJS_GetGlobalObject(j.tls, j.ctx))
	defer j.free(global)
	json := j.get(global, "JSON")
	defer j.free(json)
	f := j.newFunction("stringify", hookStringify, 3)
	failed := isException(json) || isException(f)
	j.withText([]byte("stringify"), func(p uintptr) {
		failed = failed || lib.XJS_DefinePropertyValueStr(j.tls, j.ctx, raw(json), p, raw(f),
			lib.MJS_PROP_WRITABLE|lib.MJS_PROP_CONFIGURABLE) < 0
	})
	if failed {
		return fmt.Errorf("quickjs: open: no memory to replace JSON.stringify")
	}
	return j.watchClock()
}

// hookStringify is JSON.stringify. QuickJS takes an indentation that it holds in
// pieces for one that is contiguous, and shows the guest what lies behind it.
func hookStringify(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	space := *at[lib.TJSValue](argv + 2*unsafe.Sizeof(lib.TJSValue{}))
	if int32(space.Ftag) == lib.EJS_TAG_STRING_ROPE {
		space = lib.XJS_ToString(tls, ctx, space)
		if int32(space.Ftag) == lib.EJS_TAG_EXCEPTION {
			return space
		}
		defer lib.XFreeValue(tls, ctx, space)
	}
	return lib.XJS_JSONStringify(tls, ctx, raw(argument(argv, 0)), raw(argument(argv, 1)), space)
}
