//go:build linux && (amd64 || arm64)

package quickjs

import (
	"encoding/json"
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

// frame is the address of a frame of the engine's stack.
type frame uintptr

// explain adds to the message of obj, an error that the engine has just made, what
// the host knows of the expression that is to blame.
func (v *vm) explain(obj, stack value) {
	sf := v.thrower()
	if v.files == nil || v.end != endNone || sf == 0 {
		return
	}
	// The engine may still be about to throw obj, or hold another exception.
	defer v.reinstate(v.setAside())
	message := v.js.dataProperty(obj, "message", maxMistake)
	kind, ok := mistakeIn(message)
	if !ok {
		return
	}
	kind, path, ok := v.mistaken(sf, kind, message, stack)
	if !ok {
		return
	}
	if hint := v.hint(kind, path); hint != "" {
		if text := v.js.newString([]byte(message + ": " + hint)); !isException(text) {
			v.js.setMessage(obj, text)
		}
	}
}

// mistaken returns the expression that is to blame: one that starts with a global, a
// field of a value of the program's own, or the last name of a call of one.
func (v *vm) mistaken(sf frame, kind mistake, message string, stack value) (mistake, []string, bool) {
	if kind == mistakeName {
		return kind, []string{message[1 : len(message)-len(notDefined)]}, true
	}
	before, ok := v.before(stack)
	if !ok {
		return kind, nil, false
	}
	path, ok := memberPath(before)
	switch {
	case ok && !v.isLocal(sf, path[0]):
		return kind, path, true
	case ok && kind == mistakeRead && len(path) > 1:
		return mistakeField, path, true
	}
	name, ok := methodName(before)
	return mistakeSelf, []string{name}, ok && kind == mistakeCall
}

// before returns the program up to the place where a stack starts.
func (v *vm) before(stack value) ([]byte, bool) {
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
