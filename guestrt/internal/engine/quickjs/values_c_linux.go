//go:build linux && (amd64 || arm64) && quickjs_c

package quickjs

// #include "shim.h"
import "C"

import "unsafe"

// raw is v as the library passes it.
func raw(v value) C.qn_value { return *(*C.qn_value)(unsafe.Pointer(&v)) }

// cooked is the reverse.
func cooked(v C.qn_value) value { return *(*value)(unsafe.Pointer(&v)) }

// chars lends the bytes of b, which may be empty, to a call of the library.
func chars(b []byte) (*C.char, C.size_t) {
	return (*C.char)(unsafe.Pointer(unsafe.SliceData(b))), C.size_t(len(b))
}

// terminated is b with the zero byte behind it that the library wants.
func terminated(b []byte) *C.char {
	c, _ := chars(append(b[:len(b):len(b)], 0))
	return c
}

func (j js) dup(v value) value {
	C.qn_dup(raw(v))
	return v
}

func (j js) free(v value) {
	if v.tag < 0 { // only these are counted
		C.qn_free(raw(v))
	}
}

func (j js) newString(b []byte) value {
	c, n := chars(b)
	return cooked(C.qn_new_string(c, n))
}

func (j js) get(obj value, name string) (v value) {
	guest(func() { v = cooked(C.qn_get(raw(obj), terminated([]byte(name)))) })
	return v
}

func (j js) isFunction(v value) bool { return C.qn_is_function(raw(v)) != 0 }
func (j js) isError(v value) bool    { return C.qn_is_error(raw(v)) != 0 }

// toString converts a primitive.
func (j js) toString(v value) value { return cooked(C.qn_to_string(raw(v))) }

// prototype is the prototype of obj, which must be no proxy.
func (j js) prototype(obj value) value { return cooked(C.qn_prototype(raw(obj))) }

// isProxy reports whether reading obj could run guest code.
func (j js) isProxy(obj value) bool { return C.qn_is_proxy(raw(obj)) != 0 }

// ownData returns the own data property name of obj, which must be no proxy. It is
// undefined for an accessor, and for what does not exist.
func (j js) ownData(obj value, name string) value {
	v := cooked(C.qn_own_data(raw(obj), terminated([]byte(name))))
	if isException(v) {
		j.dropException()
		return undefined
	}
	return v
}

// lend calls f with the bytes of a string, in UTF-8 with unpaired surrogates. It is
// false, with an exception pending, when memory ran out.
func (j js) lend(v value, f func([]byte)) bool {
	var n C.size_t
	p := C.qn_text_of(raw(v), &n)
	if p == nil {
		return false
	}
	defer C.qn_free_text(p)
	f(unsafe.Slice((*byte)(unsafe.Pointer(p)), n))
	return true
}

// call calls f with args, which stay owned by the caller.
func (j js) call(f value, args ...value) (v value) {
	guest(func() {
		v = cooked(C.qn_call(raw(f), C.int(len(args)), (*C.qn_value)(unsafe.Pointer(unsafe.SliceData(args)))))
	})
	return v
}

// compile parses a global script. The result is for evalCompiled.
func (j js) compile(src []byte, name string) (v value) {
	guest(func() {
		v = cooked(C.qn_compile(terminated(src), C.size_t(len(src)), terminated([]byte(name))))
	})
	return v
}

// evalCompiled runs a compiled script and consumes it.
func (j js) evalCompiled(code value) (v value) {
	guest(func() { v = cooked(C.qn_run(raw(code))) })
	return v
}

// evalPrelude evaluates a script of the prelude's. To the guest its functions look
// native, their frames are hidden, and their text takes no memory.
func (j js) evalPrelude(src, name string) (v value) {
	guest(func() {
		v = cooked(C.qn_prelude(terminated([]byte(src)), C.size_t(len(src)), terminated([]byte(name))))
	})
	return v
}

// nativeObject makes the object the prelude reaches the engine through.
func (j js) nativeObject(c *control) (native value, ok bool) {
	native = cooked(C.qn_new_natives())
	return native, !isException(native)
}

// takeException returns the pending exception, which is pending no more.
func (j js) takeException() value { return cooked(C.qn_exception()) }
