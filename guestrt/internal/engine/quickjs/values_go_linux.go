//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"

	"github.com/quoinhq/quoin/guestrt/internal/engine"
)

// js is the live guest as this library knows it.
type js struct {
	tls     *libc.TLS
	rt, ctx uintptr
}

// The layout and the tags of value are the library's.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(value{})-unsafe.Sizeof(lib.TJSValue{})]
	_ = [1]struct{}{}[tagSymbol-lib.EJS_TAG_SYMBOL]
	_ = [1]struct{}{}[tagString-lib.EJS_TAG_STRING]
	_ = [1]struct{}{}[tagStringRope-lib.EJS_TAG_STRING_ROPE]
	_ = [1]struct{}{}[tagCode-lib.EJS_TAG_FUNCTION_BYTECODE]
	_ = [1]struct{}{}[tagObject-lib.EJS_TAG_OBJECT]
	_ = [1]struct{}{}[tagInt-lib.EJS_TAG_INT]
	_ = [1]struct{}{}[tagBool-lib.EJS_TAG_BOOL]
	_ = [1]struct{}{}[tagNull-lib.EJS_TAG_NULL]
	_ = [1]struct{}{}[tagUndefined-lib.EJS_TAG_UNDEFINED]
	_ = [1]struct{}{}[tagUninitialized-lib.EJS_TAG_UNINITIALIZED]
	_ = [1]struct{}{}[tagException-lib.EJS_TAG_EXCEPTION]
)

const valueSize = unsafe.Sizeof(value{})

// raw is v as the library passes it.
func raw(v value) lib.TJSValue { return *(*lib.TJSValue)(unsafe.Pointer(&v)) }

// cooked is the reverse.
func cooked(v lib.TJSValue) value { return *(*value)(unsafe.Pointer(&v)) }

func argument(argv uintptr, i int) value { return *at[value](argv + uintptr(i)*valueSize) }

func (j js) dup(v value) value { return cooked(lib.XDupValue(j.tls, j.ctx, raw(v))) }
func (j js) free(v value)      { lib.XFreeValue(j.tls, j.ctx, raw(v)) }

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

func (j js) newString(b []byte) (v value) {
	j.withText(b, func(p uintptr) { v = cooked(lib.XJS_NewStringLen(j.tls, j.ctx, p, lib.Tsize_t(len(b)))) })
	return v
}

func (j js) get(obj value, name string) (v value) {
	j.withText([]byte(name), func(p uintptr) { v = cooked(lib.XJS_GetPropertyStr(j.tls, j.ctx, raw(obj), p)) })
	return v
}

// put defines an own data property and consumes val.
func (j js) put(obj value, name string, val value) (ok bool) {
	j.withText([]byte(name), func(p uintptr) {
		ok = lib.XJS_DefinePropertyValueStr(j.tls, j.ctx, raw(obj), p, raw(val), lib.MJS_PROP_C_W_E) >= 0
	})
	return ok
}

// putIndex defines an own indexed property and consumes val.
func (j js) putIndex(obj value, i int32, val value) bool {
	return lib.XJS_DefinePropertyValueUint32(j.tls, j.ctx, raw(obj), lib.Tuint32_t(i), raw(val), lib.MJS_PROP_C_W_E) >= 0
}

// length reads the length of an array.
func (j js) length(arr value) (int32, bool) {
	v := j.get(arr, "length")
	defer j.free(v)
	return int32(v.bits), v.tag == tagInt
}

func (j js) isFunction(v value) bool { return lib.XJS_IsFunction(j.tls, j.ctx, raw(v)) != 0 }
func (j js) isError(v value) bool    { return lib.XJS_IsError(j.tls, j.ctx, raw(v)) != 0 }

// toString converts a primitive.
func (j js) toString(v value) value { return cooked(lib.XJS_ToString(j.tls, j.ctx, raw(v))) }

// prototype is the prototype of obj, which must be no proxy.
func (j js) prototype(obj value) value { return cooked(lib.XJS_GetPrototype(j.tls, j.ctx, raw(obj))) }

// isProxy reports whether reading obj could run guest code.
func (j js) isProxy(obj value) bool {
	return int(at[lib.TJSObject](pointer(obj)).Fclass_id) == lib.EJS_CLASS_PROXY
}

// ownData returns the own data property name of obj, which must be no proxy. It is
// undefined for an accessor, and for what does not exist.
func (j js) ownData(obj value, name string) value {
	var atom lib.TJSAtom
	j.withText([]byte(name), func(p uintptr) { atom = lib.XJS_NewAtom(j.tls, j.ctx, p) })
	defer lib.XJS_FreeAtom(j.tls, j.ctx, atom)
	const size = 64
	desc := j.tls.Alloc(size)
	defer j.tls.Free(size)
	switch lib.XJS_GetOwnProperty(j.tls, j.ctx, desc, raw(obj), atom) {
	case 0:
		return undefined
	case -1:
		j.dropException()
		return undefined
	}
	d := at[lib.TJSPropertyDescriptor](desc)
	j.free(cooked(d.Fgetter))
	j.free(cooked(d.Fsetter))
	return cooked(d.Fvalue)
}

// lend calls f with the bytes of a string, in UTF-8 with unpaired surrogates. It is
// false, with an exception pending, when memory ran out.
func (j js) lend(v value, f func([]byte)) bool {
	bp := j.tls.Alloc(8)
	defer j.tls.Free(8)
	p := lib.XJS_ToCStringLen2(j.tls, j.ctx, bp, raw(v), 0)
	if p == 0 {
		return false
	}
	defer lib.XJS_FreeCString(j.tls, j.ctx, p)
	f(bytesAt(p, uintptr(*at[lib.Tsize_t](bp))))
	return true
}

// call calls f with args, which stay owned by the caller.
func (j js) call(f value, args ...value) value {
	n := max(1, len(args)) * int(valueSize)
	argv := j.tls.Alloc(n)
	defer j.tls.Free(n)
	for i, a := range args {
		*at[value](argv + uintptr(i)*valueSize) = a
	}
	return cooked(lib.XJS_Call(j.tls, j.ctx, raw(f), raw(undefined), int32(len(args)), argv))
}

// compile parses a global script. The result is for evalCompiled.
func (j js) compile(src []byte, name string) (v value) {
	j.withText([]byte(name), func(file uintptr) {
		j.withText(src, func(p uintptr) {
			v = cooked(lib.XJS_Eval(j.tls, j.ctx, p, lib.Tsize_t(len(src)), file, lib.MJS_EVAL_TYPE_GLOBAL|lib.MJS_EVAL_FLAG_COMPILE_ONLY))
		})
	})
	return v
}

// evalCompiled runs a compiled script and consumes it.
func (j js) evalCompiled(code value) value {
	return cooked(lib.XJS_EvalFunction(j.tls, j.ctx, raw(code)))
}

// takeException returns the pending exception, which is pending no more.
func (j js) takeException() value { return cooked(lib.XJS_GetException(j.tls, j.ctx)) }

// job runs one pending job. It is 0 when there was no job, and negative, with an
// exception pending, when one threw.
func (j js) job() int { return int(lib.XJS_ExecutePendingJob(j.tls, j.rt, 0)) }

// collect frees what no one can reach.
func (j js) collect() { lib.XJS_RunGC(j.tls, j.rt) }

// library is what the process needs to call QuickJS.
type library struct{ tls *libc.TLS }

func newLibrary() *library { return &library{libc.NewTLS()} }

// js is the guest that the arena holds. No function of the library is on the stack, which
// the optimised library empties here: a panic may have left frames on it.
func (l *library) js(c *control) js {
	lib.XJS_UpdateStackTop(l.tls, c.rt)
	return js{tls: l.tls, rt: c.rt, ctx: c.ctx}
}

// renew is called after a panic, which may have left frames on the library's stack.
func (l *library) renew() { l.tls = libc.NewTLS() }

func (l *library) close() { l.tls.Close() }

// stackSlots bounds the guest's recursion, counted in the engine's own
// frames: about as deep as native QuickJS with a 1 MiB stack.
const stackSlots = 5000

// hook is a function of Go that QuickJS calls.
type hook = func(*libc.TLS, uintptr, lib.TJSValue, int32, uintptr) lib.TJSValue

// funcAddr returns the address QuickJS calls a top-level function by.
func funcAddr(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

// newFunction makes a function of a hook that reads at most args arguments.
func (j js) newFunction(name string, hook hook, args int32) (v value) {
	j.withText([]byte(name), func(p uintptr) {
		v = cooked(lib.XJS_NewCFunction2(j.tls, j.ctx, funcAddr(hook), p, args, lib.EJS_CFUNC_generic, 0))
	})
	return v
}
