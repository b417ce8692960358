//go:build linux && (amd64 || arm64)

package quickjs

// text returns the string v as valid UTF-8, at most limit bytes of it and cut
// at a character. It is false, with an exception pending, when v is no string
// or memory ran out.
func (j js) text(v value, limit int) (s string, ok bool) {
	if !isString(v) {
		return "", false
	}
	ok = j.lend(v, func(b []byte) { s = clip(b, limit) })
	return s, ok
}

// dropException forgets the pending exception.
func (j js) dropException() { j.free(j.takeException()) }
