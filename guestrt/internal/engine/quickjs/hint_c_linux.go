//go:build linux && (amd64 || arm64) && quickjs_c

package quickjs

// #include "shim.h"
import "C"

import "unsafe"

// thrower is the function that runs and is the guest's own, or 0.
func (v *vm) thrower() frame { return frame(C.qn_thrower()) }

// setAside takes the pending exception, if there is one, for reinstate.
func (v *vm) setAside() (pending value) { return v.js.takeException() }

// reinstate makes what setAside has taken the pending exception again.
func (v *vm) reinstate(pending value) { C.qn_throw(raw(pending)) }

// setMessage replaces the message of an error and consumes text.
func (j js) setMessage(obj, text value) { C.qn_set_message(raw(obj), raw(text)) }

// program is the text of the cell's function.
func (v *vm) program() []byte {
	var n C.size_t
	p := C.qn_source(raw(ctl().cell), &n)
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), n)
}

// isLocal reports whether name is a variable of the program in the function of a
// frame. Then it is not one of Quoin's globals.
func (v *vm) isLocal(sf frame, name string) bool {
	c, n := chars([]byte(name))
	return C.qn_is_local(C.uintptr_t(sf), c, n) != 0
}
