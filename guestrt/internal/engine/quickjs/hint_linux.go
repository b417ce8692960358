//go:build linux && (amd64 || arm64)

package quickjs

import (
	"encoding/json"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// What the engine says of a mistake, "not a function", does not name what was
// mistaken. When it makes such an error for a statement of the program, the
// expression is read from the program's text, the host is asked what it says of
// that name, and its sentence is added to the message. Programs that make no such
// mistake pay nothing, and no object of theirs behaves differently for it.

const (
	maxHints   = 16   // different expressions that one VM asks about in one process
	maxHint    = 1000 // bytes of a sentence
	maxMistake = 256  // bytes of a message that the engine makes of a mistake
	hintFolder = "hint/"
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
	setExotic(obj, 0)
	if prop != lib.EJS_ATOM_stack {
		defer setExotic(obj, 1)
		if refusal := refusalInPlaceOf(prop, val); isString(refusal) {
			defer running.js.free(refusal)
			val = refusal
		}
	} else if running != nil {
		running.explain(obj, val)
	}
	return lib.XJS_DefineProperty(tls, ctx, obj, prop, val, getter, setter, flags)
}

// setExotic sets the bit of an object by which the engine looks for its class's
// methods.
func setExotic(obj lib.TJSValue, bit uint8) {
	const shift, mask = 3, 1 << 3
	libc.SetBitFieldPtr8Uint8(pointer(obj)+unsafe.Offsetof(lib.TJSObject{}.F__ccgo16), bit, shift, mask)
}

// explain adds to the message of obj, an error that the engine has just made, what
// the host knows of the expression that is to blame.
func (v *vm) explain(obj, stack lib.TJSValue) {
	rt := ctl().runtime()
	frame := rt.Fcurrent_stack_frame
	if v.files == nil || v.end != endNone || frame == 0 || native(frame) || hidden(frame) {
		return
	}
	// The engine may still be about to throw obj, or hold another exception.
	pending := rt.Fcurrent_exception
	rt.Fcurrent_exception = lib.TJSValue{Ftag: lib.EJS_TAG_UNINITIALIZED}
	defer func() {
		v.js.dropException()
		rt.Fcurrent_exception = pending
	}()
	message := v.dataProperty(obj, "message", maxMistake)
	kind, ok := mistakeIn(message)
	if !ok {
		return
	}
	kind, path, ok := v.mistaken(frame, kind, message, stack)
	if !ok {
		return
	}
	if hint := v.hint(kind, path); hint != "" {
		if text := v.js.newString([]byte(message + ": " + hint)); !isException(text) {
			lib.XJS_DefinePropertyValue(v.js.tls, v.js.ctx, obj, lib.EJS_ATOM_message, text, lib.MJS_PROP_WRITABLE|lib.MJS_PROP_CONFIGURABLE)
		}
	}
}

// importFromNowhere is what the engine says of import() in code that comes from no
// file, as the code of an indirect eval does. It looks for no module then.
const importFromNowhere = "no function filename for import()"

// refusalInPlaceOf returns the message of every other refused module if a property
// of a new error is that message; else undefined, or an exception without memory.
func refusalInPlaceOf(prop lib.TJSAtom, val lib.TJSValue) lib.TJSValue {
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

// mistaken returns the expression that is to blame: one that starts with a global, or
// the last name of a call of a value of the program's own.
func (v *vm) mistaken(frame uintptr, kind mistake, message string, stack lib.TJSValue) (mistake, []string, bool) {
	if kind == mistakeName {
		return kind, []string{message[1 : len(message)-len(notDefined)]}, true
	}
	before, ok := v.before(stack)
	if !ok {
		return kind, nil, false
	}
	if path, ok := memberPath(before); ok && !v.isLocal(frame, path[0]) {
		return kind, path, true
	}
	name, ok := methodName(before)
	return mistakeSelf, []string{name}, ok && kind == mistakeCall
}

// before returns the program up to the place where a stack starts.
func (v *vm) before(stack lib.TJSValue) ([]byte, bool) {
	text, ok := v.js.text(stack, maxMistake+maxErrorName)
	if !ok {
		return nil, false
	}
	line, col, ok := firstPlace(text)
	if !ok {
		return nil, false
	}
	if line == 1 {
		col -= int(ctl().cellColumn)
	}
	program := v.program()
	end, ok := offsetOf(program, line, col)
	if !ok {
		return nil, false
	}
	return program[:end], true
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
func bytecodeOf(f lib.TJSValue) *lib.TJSFunctionBytecode {
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
func (v *vm) isLocal(frame uintptr, name string) bool {
	code := bytecodeOf(at[lib.TJSStackFrame](frame).Fcur_func)
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

// hint asks the host about an expression, once.
func (v *vm) hint(kind mistake, path []string) string {
	b, err := json.Marshal(path)
	if err != nil {
		return ""
	}
	file := hintFolder + string(kind) + "/" + string(b)
	hint, known := v.hints[file]
	if known || len(v.hints) == maxHints || len(file) > maxPath {
		return hint
	}
	if text, found := v.files(file); found {
		hint = clip(text, maxHint)
	}
	if v.hints == nil {
		v.hints = map[string]string{}
	}
	v.hints[file] = hint
	return hint
}
