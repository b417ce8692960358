//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// errorMethods make the engine define the properties of a new error through
// hookErrorProperty. They are static data, like the engine's own such tables.
var errorMethods = lib.TJSClassExoticMethods{Fdefine_own_property: funcAddr(hookErrorProperty)}

// watchErrors applies errorMethods to the errors that are made from now on.
func (c *control) watchErrors() {
	class := c.runtime().Fclass_array + uintptr(lib.EJS_CLASS_ERROR)*unsafe.Sizeof(lib.TJSClass{})
	at[lib.TJSClass](class).Fexotic = uintptr(unsafe.Pointer(&errorMethods))
}

// hookErrorProperty defines a property of an error that is being made. The stack
// comes last; with it the error becomes an object like any other.
func hookErrorProperty(tls *libc.TLS, ctx uintptr, obj lib.TJSValue, prop lib.TJSAtom, val, getter, setter lib.TJSValue, flags int32) int32 {
	setExotic(cooked(obj), 0)
	if prop != lib.EJS_ATOM_stack {
		defer setExotic(cooked(obj), 1)
		if refusal := refusalInPlaceOf(prop, cooked(val)); isString(refusal) {
			defer running.js.free(refusal)
			val = raw(refusal)
		}
	} else if running != nil {
		running.explain(cooked(obj), cooked(val))
	}
	return lib.XJS_DefineProperty(tls, ctx, obj, prop, val, getter, setter, flags)
}

// setExotic sets the bit of an object by which the engine looks for its class's
// methods.
func setExotic(obj value, bit uint8) {
	const shift, mask = 3, 1 << 3
	libc.SetBitFieldPtr8Uint8(pointer(obj)+unsafe.Offsetof(lib.TJSObject{}.F__ccgo16), bit, shift, mask)
}

// importFromNowhere is what the engine says of import() in code that comes from no
// file, as the code of an indirect eval does. It looks for no module then.
const importFromNowhere = "no function filename for import()"

// refusalInPlaceOf returns the message of every other refused module if a property
// of a new error is that message; else undefined, or an exception without memory.
func refusalInPlaceOf(prop lib.TJSAtom, val value) value {
	if prop != lib.EJS_ATOM_message || running == nil || !isString(val) {
		return undefined
	}
	text, ok := running.js.text(val, maxMistake)
	if !ok {
		running.js.dropException()
	}
	if text != importFromNowhere {
		return undefined
	}
	return running.js.newString([]byte(refusedModule))
}

// thrower is the function that runs and is the guest's own, or 0.
func (v *vm) thrower() frame {
	sf := ctl().runtime().Fcurrent_stack_frame
	if sf == 0 || isNative(sf) || hidden(sf) {
		return 0
	}
	return frame(sf)
}

// setAside takes the pending exception, if there is one, for reinstate.
func (v *vm) setAside() (pending value) {
	rt := ctl().runtime()
	pending = cooked(rt.Fcurrent_exception)
	rt.Fcurrent_exception = raw(value{tag: tagUninitialized})
	return pending
}

// reinstate makes what setAside has taken the pending exception again.
func (v *vm) reinstate(pending value) {
	v.js.dropException()
	ctl().runtime().Fcurrent_exception = raw(pending)
}

// setMessage replaces the message of an error and consumes text.
func (j js) setMessage(obj, text value) {
	lib.XJS_DefinePropertyValue(j.tls, j.ctx, raw(obj), lib.EJS_ATOM_message, raw(text), lib.MJS_PROP_WRITABLE|lib.MJS_PROP_CONFIGURABLE)
}

// program is the text of the cell's function.
func (v *vm) program() []byte {
	code := bytecodeOf(ctl().cell)
	if code == nil || code.Fdebug.Fsource == 0 {
		return nil
	}
	return bytesAt(code.Fdebug.Fsource, uintptr(code.Fdebug.Fsource_len))
}

// bytecodeOf returns the code of a function of the guest's; nil if it is no such function or
// the code does not say where it comes from.
func bytecodeOf(f value) *lib.TJSFunctionBytecode {
	if !isObject(f) {
		return nil
	}
	switch at[lib.TJSObject](pointer(f)).Fclass_id {
	case lib.EJS_CLASS_BYTECODE_FUNCTION, lib.EJS_CLASS_GENERATOR_FUNCTION,
		lib.EJS_CLASS_ASYNC_FUNCTION, lib.EJS_CLASS_ASYNC_GENERATOR_FUNCTION:
	default:
		return nil
	}
	const hasDebug = 4
	code := at[lib.TJSFunctionBytecode](*at[uintptr](pointer(f) + unsafe.Offsetof(lib.TJSObject{}.Fu)))
	if code.F__ccgo18&hasDebug == 0 {
		return nil
	}
	return code
}

// isLocal reports whether name is a variable of the program in the function of a
// frame. Then it is not one of Quoin's globals.
func (v *vm) isLocal(sf frame, name string) bool {
	code := bytecodeOf(cooked(at[lib.TJSStackFrame](uintptr(sf)).Fcur_func))
	if code == nil {
		return true
	}
	j := v.js
	var atom lib.TJSAtom
	j.withText([]byte(name), func(p uintptr) { atom = lib.XJS_NewAtomLen(j.tls, j.ctx, p, lib.Tsize_t(len(name))) })
	defer lib.XJS_FreeAtom(j.tls, j.ctx, atom)
	for i := range uintptr(code.Farg_count) + uintptr(code.Fvar_count) {
		if at[lib.TJSBytecodeVarDef](code.Fvardefs+i*unsafe.Sizeof(lib.TJSBytecodeVarDef{})).Fvar_name == atom {
			return true
		}
	}
	for i := range uintptr(code.Fclosure_var_count) {
		c := at[lib.TJSClosureVar](code.Fclosure_var + i*unsafe.Sizeof(lib.TJSClosureVar{}))
		const kind = 7
		if c.Fvar_name == atom && c.F__ccgo0&kind <= lib.EJS_CLOSURE_REF {
			return true
		}
	}
	return false
}
