//go:build linux && (amd64 || arm64) && quickjs_c

package quickjs

// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"unicode/utf8"
	"unsafe"

	"github.com/quoinhq/quoin/guestrt/internal/engine/weburl"
)

// The functions below are called by the shim, in a turn. They run no code of the
// guest's and keep nothing of what they are lent.

// quoinExplain may add to the message of an error that the engine has just made.
//
//export quoinExplain
func quoinExplain(obj, stack *C.qn_value) {
	if running != nil {
		running.explain(cooked(*obj), cooked(*stack))
	}
}

// quoinAsk answers what the prelude asks of the host: 1 with an answer, 0 without.
//
//export quoinAsk
func quoinAsk(kind C.int, in, out *C.qn_text) C.int {
	texts := unsafe.Slice(in, C.QN_TEXTS)
	if running == nil {
		return 0
	}
	switch kind {
	case C.QN_ASK_UTF8:
		if utf8.Valid(textBytes(texts[0])) {
			return 1
		}
		return 0
	case C.QN_ASK_RANDOM:
		running.fillRandom(textBytes(texts[0]))
		return 0
	}
	answer, ok := running.answer(kind, texts)
	if !ok {
		return 0
	}
	// malloc of package C does not return without memory.
	out.bytes, out.size = (*C.char)(C.CBytes(answer)), C.size_t(len(answer))
	return 1
}

// quoinNow reads the clock of the turn.
//
//export quoinNow
func quoinNow() C.int64_t {
	if running == nil {
		return 0
	}
	return C.int64_t(running.clock.now())
}

// answer is the text that the host has to a question.
func (v *vm) answer(kind C.int, texts []C.qn_text) ([]byte, bool) {
	switch kind {
	case C.QN_ASK_FILE:
		return v.file(clip(textBytes(texts[0]), maxPath))
	case C.QN_ASK_EXTRA:
		src, ok := v.script(clip(textBytes(texts[0]), maxPath))
		return []byte(src), ok
	}
	var args [C.QN_TEXTS]*string
	for i, t := range texts {
		if t.bytes != nil {
			// One byte more than may be: what is cut off must not be taken for whole.
			s := clip(textBytes(t), weburl.MaxBytes+4)
			args[i] = &s
		}
	}
	return urlParts(args)
}

// textBytes views a text of the library's.
func textBytes(t C.qn_text) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(t.bytes)), t.size) }
