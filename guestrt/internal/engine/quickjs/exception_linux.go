//go:build linux && (amd64 || arm64)

package quickjs

import (
	"errors"

	lib "modernc.org/libquickjs"

	"github.com/quoinhq/quoin/internal/wire"
)

// protoHops bounds the walk up an error's prototypes for its name.
const protoHops = 8

// thrown takes the pending exception and describes it without running guest
// code: no getter, proxy trap or conversion is called.
func (v *vm) thrown() *wire.GuestError {
	j := v.js
	e := lib.XJS_GetException(j.tls, j.ctx)
	defer j.free(e)
	if isObject(e) {
		return v.describeObject(e)
	}
	return guestException("Error", v.describePrimitive(e), "")
}

// thrownError is thrown as a Go error, for the prelude's own mistakes.
func (v *vm) thrownError() error {
	e := v.thrown()
	return errors.New(e.Name + ": " + e.Message + "\n" + e.Stack)
}

// describeObject reads own data properties of a thrown object.
func (v *vm) describeObject(e lib.TJSValue) *wire.GuestError {
	message := v.dataProperty(e, "message", maxErrorMessage)
	if lib.XJS_IsError(v.js.tls, v.js.ctx, e) == 0 && message == "" {
		message = "an object was thrown"
	}
	name := v.inheritedData(e, "name", maxErrorName)
	if name == "" {
		name = "Error"
	}
	return guestException(name, message, v.dataProperty(e, "stack", maxErrorStack))
}

// describePrimitive is the text of a thrown value that is no object.
func (v *vm) describePrimitive(e lib.TJSValue) string {
	switch int32(e.Ftag) {
	case lib.EJS_TAG_SYMBOL:
		return "a symbol was thrown"
	case lib.EJS_TAG_UNDEFINED, lib.EJS_TAG_UNINITIALIZED:
		return "undefined"
	}
	s := lib.XJS_ToString(v.js.tls, v.js.ctx, e)
	defer v.js.free(s)
	text, ok := v.js.text(s, maxErrorMessage)
	if !ok {
		v.js.dropException()
		return outOfMemory
	}
	return text
}

// isProxy reports whether reading obj could run guest code.
func isProxy(obj lib.TJSValue) bool {
	return int(at[lib.TJSObject](pointer(obj)).Fclass_id) == lib.EJS_CLASS_PROXY
}

// dataProperty returns the own string property name of obj, or "" when there
// does not exist, or it is an accessor, or obj is a proxy.
func (v *vm) dataProperty(obj lib.TJSValue, name string, limit int) (s string) {
	if !isObject(obj) || isProxy(obj) {
		return ""
	}
	j := v.js
	var atom lib.TJSAtom
	j.withText([]byte(name), func(p uintptr) { atom = lib.XJS_NewAtom(j.tls, j.ctx, p) })
	defer lib.XJS_FreeAtom(j.tls, j.ctx, atom)
	const size = 64
	desc := j.tls.Alloc(size)
	defer j.tls.Free(size)
	switch lib.XJS_GetOwnProperty(j.tls, j.ctx, desc, obj, atom) {
	case 0:
		return ""
	case -1:
		j.dropException()
		return ""
	}
	d := at[lib.TJSPropertyDescriptor](desc)
	val, get, set := d.Fvalue, d.Fgetter, d.Fsetter
	if isString(val) {
		var ok bool
		if s, ok = j.text(val, limit); !ok {
			j.dropException()
		}
	}
	j.free(val)
	j.free(get)
	j.free(set)
	return s
}

// inheritedData is dataProperty along the prototype chain.
func (v *vm) inheritedData(obj lib.TJSValue, name string, limit int) string {
	j := v.js
	cur := j.dup(obj)
	defer func() { j.free(cur) }()
	for range protoHops {
		if !isObject(cur) || isProxy(cur) {
			return ""
		}
		if s := v.dataProperty(cur, name, limit); s != "" {
			return s
		}
		next := lib.XJS_GetPrototype(j.tls, j.ctx, cur)
		j.free(cur)
		cur = next
	}
	return ""
}

// failed is the report of a program that ended with e, or because the engine
// stopped it, whichever is the cause.
func (v *vm) failed(e *wire.GuestError) wire.Report {
	crossed := ctl().heap.crossings > 0
	switch {
	case v.end == endDeadline:
		e = timeoutError()
	case v.end == endMemory, crossed && (e == nil || isOutOfMemory(e)):
		e = memoryError()
	case e == nil:
		e = guestException("InternalError", "the engine lost an exception", "")
	}
	return wire.Report{Status: wire.StatusFailed, Err: e, TimerMillis: -1}
}
