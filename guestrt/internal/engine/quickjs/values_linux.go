//go:build linux && (amd64 || arm64)

package quickjs

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
)

// js wraps the few QuickJS calls the adapter makes. Values are owned by the
// caller unless a method says that it consumes them.
type js struct {
	tls     *libc.TLS
	rt, ctx uintptr
}

var (
	undefined = lib.TJSValue{Ftag: lib.EJS_TAG_UNDEFINED}
	exception = lib.TJSValue{Ftag: lib.EJS_TAG_EXCEPTION}
	null      = lib.TJSValue{Ftag: lib.EJS_TAG_NULL}
)

const valueSize = unsafe.Sizeof(lib.TJSValue{})

func isException(v lib.TJSValue) bool { return int32(v.Ftag) == lib.EJS_TAG_EXCEPTION }
func isObject(v lib.TJSValue) bool    { return int32(v.Ftag) == lib.EJS_TAG_OBJECT }

func isString(v lib.TJSValue) bool {
	t := int32(v.Ftag)
	return t == lib.EJS_TAG_STRING || t == lib.EJS_TAG_STRING_ROPE
}

func intValue(n int32) lib.TJSValue {
	return lib.TJSValue{Fu: lib.TJSValueUnion{Fuint641: uint64(uint32(n))}, Ftag: lib.EJS_TAG_INT}
}

func boolValue(b bool) lib.TJSValue {
	v := lib.TJSValue{Ftag: lib.EJS_TAG_BOOL}
	if b {
		v.Fu.Fuint641 = 1
	}
	return v
}

func pointer(v lib.TJSValue) uintptr { return uintptr(v.Fu.Fuint641) }

func argument(argv uintptr, i int) lib.TJSValue {
	return *at[lib.TJSValue](argv + uintptr(i)*valueSize)
}

func (j js) dup(v lib.TJSValue) lib.TJSValue { return lib.XDupValue(j.tls, j.ctx, v) }
func (j js) free(v lib.TJSValue)             { lib.XFreeValue(j.tls, j.ctx, v) }

// withText calls f with a C copy of b outside the arena and the Go heap.
func (j js) withText(b []byte, f func(p uintptr)) {
	p := libc.Xmalloc(j.tls, libc.Tsize_t(len(b)+1))
	if p == 0 {
		panic(engine.ErrMemory)
	}
	defer libc.Xfree(j.tls, p)
	copy(bytesAt(p, uintptr(len(b))), b)
	*at[byte](p + uintptr(len(b))) = 0
	f(p)
}

func (j js) newString(b []byte) (v lib.TJSValue) {
	j.withText(b, func(p uintptr) { v = lib.XJS_NewStringLen(j.tls, j.ctx, p, lib.Tsize_t(len(b))) })
	return v
}

// newFunction makes a function of a hook that reads at most args arguments.
func (j js) newFunction(name string, hook func(*libc.TLS, uintptr, lib.TJSValue, int32, uintptr) lib.TJSValue, args int32) (v lib.TJSValue) {
	j.withText([]byte(name), func(p uintptr) {
		v = lib.XJS_NewCFunction2(j.tls, j.ctx, funcAddr(hook), p, args, lib.EJS_CFUNC_generic, 0)
	})
	return v
}

func (j js) get(obj lib.TJSValue, name string) (v lib.TJSValue) {
	j.withText([]byte(name), func(p uintptr) { v = lib.XJS_GetPropertyStr(j.tls, j.ctx, obj, p) })
	return v
}

// put defines an own data property and consumes val.
func (j js) put(obj lib.TJSValue, name string, val lib.TJSValue) (ok bool) {
	j.withText([]byte(name), func(p uintptr) {
		ok = lib.XJS_DefinePropertyValueStr(j.tls, j.ctx, obj, p, val, lib.MJS_PROP_C_W_E) >= 0
	})
	return ok
}

// putIndex defines an own indexed property and consumes val.
func (j js) putIndex(obj lib.TJSValue, i int32, val lib.TJSValue) bool {
	return lib.XJS_DefinePropertyValueUint32(j.tls, j.ctx, obj, lib.Tuint32_t(i), val, lib.MJS_PROP_C_W_E) >= 0
}

// length reads the length of an array.
func (j js) length(arr lib.TJSValue) (int32, bool) {
	v := j.get(arr, "length")
	defer j.free(v)
	return int32(v.Fu.Fuint641), int32(v.Ftag) == lib.EJS_TAG_INT
}

// call calls f with args, which stay owned by the caller.
func (j js) call(f lib.TJSValue, args ...lib.TJSValue) lib.TJSValue {
	n := max(1, len(args)) * int(valueSize)
	argv := j.tls.Alloc(n)
	defer j.tls.Free(n)
	for i, a := range args {
		*at[lib.TJSValue](argv + uintptr(i)*valueSize) = a
	}
	return lib.XJS_Call(j.tls, j.ctx, f, undefined, int32(len(args)), argv)
}

// compile parses a global script. The result is for evalCompiled.
func (j js) compile(src []byte, name string) (v lib.TJSValue) {
	j.withText([]byte(name), func(file uintptr) {
		j.withText(src, func(p uintptr) {
			v = lib.XJS_Eval(j.tls, j.ctx, p, lib.Tsize_t(len(src)), file, lib.MJS_EVAL_TYPE_GLOBAL|lib.MJS_EVAL_FLAG_COMPILE_ONLY)
		})
	})
	return v
}

// evalCompiled runs a compiled script and consumes it.
func (j js) evalCompiled(code lib.TJSValue) lib.TJSValue {
	return lib.XJS_EvalFunction(j.tls, j.ctx, code)
}

// text returns the string v as valid UTF-8, at most limit bytes of it and cut
// at a character. It is false, with an exception pending, when v is no string
// or memory ran out.
func (j js) text(v lib.TJSValue, limit int) (string, bool) {
	if !isString(v) {
		return "", false
	}
	bp := j.tls.Alloc(8)
	defer j.tls.Free(8)
	p := lib.XJS_ToCStringLen2(j.tls, j.ctx, bp, v, 0)
	if p == 0 {
		return "", false
	}
	n := int(*at[lib.Tsize_t](bp))
	s := clip(bytesAt(p, uintptr(n)), limit)
	lib.XJS_FreeCString(j.tls, j.ctx, p)
	return s, true
}

// dropException forgets the pending exception.
func (j js) dropException() { j.free(lib.XJS_GetException(j.tls, j.ctx)) }
