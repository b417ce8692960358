//go:build linux && (amd64 || arm64)

package quickjs

import "bytes"

// scrub zeroes unused memory so that it compresses to nothing, and returns
// which pages hold nothing but unused memory. Memory that is zero already is
// not written, which would copy its page.
func scrub(c *control) []bool {
	skip := make([]bool, c.used()/pageSize)
	c.scrubPools()
	c.heap.eachFree(func(from, to uintptr) {
		first, last := (from+pageSize-1)&^(pageSize-1), to&^(pageSize-1)
		if first >= last {
			zero(from, to)
			return
		}
		zero(from, first)
		zero(last, to)
		for p := first; p < last; p += pageSize {
			skip[(p-arenaBase)/pageSize] = true
		}
	})
	zero(c.heap.brk, arenaBase+uintptr(c.used()))
	return skip
}

// zero clears [from, to) unless it is clear.
func zero(from, to uintptr) {
	if b := bytesAt(from, to-from); !isZero(b) {
		clear(b)
	}
}

var zeroPage [pageSize]byte

func isZero(b []byte) bool {
	for len(b) >= pageSize {
		if *(*[pageSize]byte)(b) != zeroPage {
			return false
		}
		b = b[pageSize:]
	}
	return bytes.Equal(b, zeroPage[:len(b)])
}
