//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import lib "modernc.org/libquickjs"

// evalPrelude evaluates a script of the prelude's. To the guest its functions look
// native, their frames are hidden, and their text takes no memory.
func (j js) evalPrelude(src, name string) value {
	lib.XJS_SetStripInfo(j.tls, j.rt, lib.MJS_STRIP_SOURCE)
	code := j.compile([]byte(src), name)
	lib.XJS_SetStripInfo(j.tls, j.rt, 0)
	if isException(code) {
		return code
	}
	hide(code)
	return j.evalCompiled(code)
}
