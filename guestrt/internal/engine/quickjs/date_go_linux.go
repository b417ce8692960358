//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import (
	"fmt"
	"math"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// The library reads the system's clock in Date.now and in the constructor of Date. Both
// read the clock of the turn instead. The native engine has a patch: clock.patch.

// nativeFunction is what an object of the library says of the C function that it is.
type nativeFunction struct {
	_     uintptr // realm
	code  uintptr
	_     [2]uint8 // length and kind
	magic int16
}

var _ = [1]struct{}{}[unsafe.Sizeof(nativeFunction{})-unsafe.Sizeof(lib.TJSObject{}.Fu)]

// The library's own functions of Date. They are static code: the same in every process
// of a build.
var dateConstructor, dateToString nativeFunction

// watchClock makes Date read the clock of the turn.
func (j js) watchClock() error {
	global := cooked(lib.XJS_GetGlobalObject(j.tls, j.ctx))
	defer j.free(global)
	date := j.get(global, "Date")
	defer j.free(date)
	proto := j.get(date, "prototype")
	defer j.free(proto)
	toString := j.get(proto, "toString")
	defer j.free(toString)
	now := j.newFunction("now", hookNow, 0)
	failed := isException(now)
	j.withText([]byte("now"), func(p uintptr) {
		failed = failed || lib.XJS_DefinePropertyValueStr(j.tls, j.ctx, raw(date), p, raw(now),
			lib.MJS_PROP_WRITABLE|lib.MJS_PROP_CONFIGURABLE) < 0
	})
	if failed {
		return fmt.Errorf("quickjs: open: no memory to replace Date.now")
	}
	f := nativeOf(date)
	dateConstructor, dateToString = *f, *nativeOf(toString)
	f.code = funcAddr(hookDate)
	return nil
}

// nativeOf is what a native function's object says of it.
func nativeOf(f value) *nativeFunction {
	return at[nativeFunction](pointer(f) + unsafe.Offsetof(lib.TJSObject{}.Fu))
}

// timeOfTurn is the time in a turn, as a number of the guest's. A template has no time.
func timeOfTurn() value {
	if running == nil {
		return intValue(0)
	}
	return value{math.Float64bits(float64(running.clock.now())), lib.EJS_TAG_FLOAT64}
}

// hookNow is Date.now.
func hookNow(*libc.TLS, uintptr, lib.TJSValue, int32, uintptr) lib.TJSValue { return raw(timeOfTurn()) }

// hookDate is Date, called as a constructor or as a function. Where the library would read
// the clock it gets the time as its argument.
func hookDate(tls *libc.TLS, ctx uintptr, newTarget lib.TJSValue, argc int32, argv uintptr) lib.TJSValue {
	asFunction := cooked(newTarget).tag == tagUndefined
	if asFunction {
		newTarget = at[lib.TJSStackFrame](ctl().runtime().Fcurrent_stack_frame).Fcur_func
	}
	if argc == 0 || asFunction {
		argv = tls.Alloc(int(valueSize))
		defer tls.Free(int(valueSize))
		*at[value](argv), argc = timeOfTurn(), 1
	}
	constructor := struct{ code uintptr }{dateConstructor.code}
	date := (*(*hook)(unsafe.Pointer(&constructor)))(tls, ctx, newTarget, argc, argv)
	if !asFunction || isException(cooked(date)) {
		return date
	}
	defer lib.XFreeValue(tls, ctx, date)
	toString := struct{ code uintptr }{dateToString.code}
	return (*(*func(*libc.TLS, uintptr, lib.TJSValue, int32, uintptr, int32) lib.TJSValue)(unsafe.Pointer(&toString)))(
		tls, ctx, date, 0, 0, int32(dateToString.magic))
}
