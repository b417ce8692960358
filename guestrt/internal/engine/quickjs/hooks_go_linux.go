//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// The functions below are called by QuickJS. Their addresses are stored in the
// arena, so they must be top-level functions, and what they need they find in
// package variables, never through a pointer in the arena.

// mallocFunctions is static data; JS_NewRuntime2 copies it.
var mallocFunctions lib.TJSMallocFunctions

func mallocTable() uintptr {
	mallocFunctions = lib.TJSMallocFunctions{
		Fjs_malloc:             funcAddr(hookMalloc),
		Fjs_free:               funcAddr(hookFree),
		Fjs_realloc:            funcAddr(hookRealloc),
		Fjs_malloc_usable_size: funcAddr(hookUsable),
	}
	return uintptr(unsafe.Pointer(&mallocFunctions))
}

func hookMalloc(tls *libc.TLS, s uintptr, n lib.Tsize_t) uintptr {
	st, c := at[lib.TJSMallocState](s), ctl()
	p := c.heap.malloc(uint64(n))
	if p == 0 {
		c.refused()
		return 0
	}
	c.account(st)
	return p
}

func hookFree(tls *libc.TLS, s uintptr, p uintptr) {
	c := ctl()
	c.heap.dealloc(p)
	c.account(at[lib.TJSMallocState](s))
}

func hookRealloc(tls *libc.TLS, s uintptr, p uintptr, n lib.Tsize_t) uintptr {
	c := ctl()
	if n == 0 {
		c.heap.dealloc(p)
		c.account(at[lib.TJSMallocState](s))
		return 0
	}
	q := c.heap.realloc(p, uint64(n))
	if q == 0 {
		c.refused()
		return 0
	}
	c.account(at[lib.TJSMallocState](s))
	return q
}

func hookUsable(tls *libc.TLS, p uintptr) lib.Tsize_t { return lib.Tsize_t(ctl().heap.usable(p)) }

// account copies the allocator's figures to where QuickJS reads them.
func (c *control) account(st *lib.TJSMallocState) {
	st.Fmalloc_count = lib.Tsize_t(c.heap.blocks)
	st.Fmalloc_size = lib.Tsize_t(c.heap.live)
	c.boundCollection()
}

// hookInterrupt is polled while guest code runs. Not 0 ends the guest with an
// exception that it cannot catch.
func hookInterrupt(tls *libc.TLS, rt, opaque uintptr) int32 {
	v := running
	ctl().poll()
	if v == nil || !v.over() {
		return 0
	}
	return 1
}

// hookRejection appends kind, promise and reason to the prelude's list.
func hookRejection(tls *libc.TLS, ctx uintptr, promise, reason lib.TJSValue, handled int32, opaque uintptr) {
	v := running
	if v == nil || !isObject(ctl().rejections) {
		return
	}
	list := ctl().rejections
	n, ok := v.js.length(list)
	if ok {
		ok = v.js.putIndex(list, n, intValue(handled)) &&
			v.js.putIndex(list, n+1, v.js.dup(cooked(promise))) &&
			v.js.putIndex(list, n+2, v.js.dup(cooked(reason)))
	}
	if !ok {
		v.js.dropException()
		ctl().lost = 1
	}
}

// hookFile is native.file(path): the text of a virtual file, or undefined.
func hookFile(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	v := running
	if v == nil || argc < 1 || !isString(argument(argv, 0)) {
		return raw(undefined)
	}
	path, ok := v.js.text(argument(argv, 0), maxPath)
	if !ok {
		return raw(exception)
	}
	data, found := v.file(path)
	if !found {
		return raw(undefined)
	}
	return raw(v.js.newString(data))
}

// hookModule refuses every module, whichever way the guest asks for one.
func hookModule(tls *libc.TLS, ctx, name, opaque uintptr) uintptr {
	lib.XJS_ThrowTypeError(tls, ctx, uintptr(unsafe.Pointer(&moduleRefusal)), 0)
	return 0
}

// moduleRefusal is a C string in static data.
var moduleRefusal = func() (b [64]byte) {
	copy(b[:len(b)-1], refusedModule)
	return b
}()
