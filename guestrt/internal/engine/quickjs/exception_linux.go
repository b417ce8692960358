//go:build linux && (amd64 || arm64)

package quickjs

import (
	"errors"

	"github.com/quoinhq/quoin/internal/wire"
)

// protoHops bounds the walk up an error's prototypes for its name.
const protoHops = 8

// thrown takes the pending exception and describes it without running guest
// code: no getter, proxy trap or conversion is called.
func (v *vm) thrown() *wire.GuestError {
	j := v.js
	e := j.takeException()
	defer j.free(e)
	if isObject(e) {
		return v.describeObject(e)
	}
	return guestException("Error", j.describePrimitive(e), "")
}

// thrownError is thrown as a Go error, for the prelude's own mistakes.
func (v *vm) thrownError() error {
	e := v.thrown()
	return errors.New(e.Name + ": " + e.Message + "\n" + e.Stack)
}

// describeObject reads own data properties of a thrown object.
func (v *vm) describeObject(e value) *wire.GuestError {
	message := v.js.dataProperty(e, "message", maxErrorMessage)
	if !v.js.isError(e) && message == "" {
		message = "an object was thrown"
	}
	name := v.js.inheritedData(e, "name", maxErrorName)
	if name == "" {
		name = "Error"
	}
	return guestException(name, message, v.js.dataProperty(e, "stack", maxErrorStack))
}

// describePrimitive is the text of a thrown value that is no object.
func (j js) describePrimitive(e value) string {
	switch e.tag {
	case tagSymbol:
		return "a symbol was thrown"
	case tagUndefined, tagUninitialized:
		return "undefined"
	}
	s := j.toString(e)
	defer j.free(s)
	text, ok := j.text(s, maxErrorMessage)
	if !ok {
		j.dropException()
		return outOfMemory
	}
	return text
}

// dataProperty returns the own string property name of obj, or "" when it
// does not exist, or it is an accessor, or obj is a proxy.
func (j js) dataProperty(obj value, name string, limit int) string {
	if !isObject(obj) || j.isProxy(obj) {
		return ""
	}
	val := j.ownData(obj, name)
	defer j.free(val)
	if !isString(val) {
		return ""
	}
	s, ok := j.text(val, limit)
	if !ok {
		j.dropException()
	}
	return s
}

// inheritedData is dataProperty along the prototype chain.
func (j js) inheritedData(obj value, name string, limit int) string {
	cur := j.dup(obj)
	defer func() { j.free(cur) }()
	for range protoHops {
		if !isObject(cur) || j.isProxy(cur) {
			return ""
		}
		if s := j.dataProperty(cur, name, limit); s != "" {
			return s
		}
		next := j.prototype(cur)
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
	case v.end == endMemory, ctl().kill != 0, crossed && (e == nil || isOutOfMemory(e)):
		e = memoryError()
	case e == nil:
		e = guestException("InternalError", "the engine lost an exception", "")
	}
	return wire.Report{Status: wire.StatusFailed, Err: e, TimerMillis: -1}
}
