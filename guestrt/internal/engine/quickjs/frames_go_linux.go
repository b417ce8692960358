//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// A guest's stacks show the guest's own frames. Every function of the prelude
// carries the engine's mark for a frame at which the account of a stack ends,
// and the errors that the prelude makes are made as if its caller had made them.

// maxOwnFrames bounds the stack of an error that the prelude makes.
const maxOwnFrames = 32

// hide marks all functions of a compiled script.
func hide(code value) {
	if code.tag != tagCode {
		return
	}
	b := at[lib.TJSFunctionBytecode](pointer(code))
	b.Fjs_mode |= lib.MJS_MODE_BACKTRACE_BARRIER
	for i := range uintptr(b.Fcpool_count) {
		hide(*at[value](b.Fcpool + i*valueSize))
	}
}

// hookError is native.error(message, constructor): an error with a stack that
// starts with the guest function that called the prelude.
func hookError(tls *libc.TLS, ctx uintptr, this lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	rt := ctl().runtime()
	top := rt.Fcurrent_stack_frame
	first := guestFrame(top)
	if last := deepFrame(first); last != nil {
		last.Fjs_mode |= lib.MJS_MODE_BACKTRACE_BARRIER
		defer func() { last.Fjs_mode &^= lib.MJS_MODE_BACKTRACE_BARRIER }()
	}
	rt.Fcurrent_stack_frame = first
	defer func() { rt.Fcurrent_stack_frame = top }()
	return lib.XJS_CallConstructor(tls, ctx, raw(argument(argv, 1)), 1, argv)
}

// guestFrame returns the nearest frame at or below sf that is neither the
// prelude's nor a native function's, or 0.
func guestFrame(sf uintptr) uintptr {
	for sf != 0 && (hidden(sf) || isNative(sf)) {
		sf = at[lib.TJSStackFrame](sf).Fprev_frame
	}
	return sf
}

// deepFrame returns the frame at which a stack that starts at sf is long
// enough, unless it ends before.
func deepFrame(sf uintptr) *lib.TJSStackFrame {
	for range maxOwnFrames {
		if sf == 0 || hidden(sf) {
			return nil
		}
		sf = at[lib.TJSStackFrame](sf).Fprev_frame
	}
	if sf == 0 || hidden(sf) {
		return nil
	}
	return at[lib.TJSStackFrame](sf)
}

func hidden(sf uintptr) bool {
	return at[lib.TJSStackFrame](sf).Fjs_mode&lib.MJS_MODE_BACKTRACE_BARRIER != 0
}

func isNative(sf uintptr) bool {
	switch f := at[lib.TJSStackFrame](sf).Fcur_func; at[lib.TJSObject](pointer(cooked(f))).Fclass_id {
	case lib.EJS_CLASS_C_FUNCTION, lib.EJS_CLASS_C_FUNCTION_DATA:
		return true
	}
	return false
}
