//go:build linux && (amd64 || arm64)

package quickjs

import (
	lib "modernc.org/libquickjs"
)

// QuickJS serves small requests from pools of equal blocks inside one
// allocation each. These describe the layout of a pool.
const (
	poolClasses = 31
	poolHeader  = 40
	blockHead   = 4 // link and class of a block; the rest is scratch when free
)

// poolBlockSize is the block size of a pool class.
func poolBlockSize(class int) uintptr {
	switch {
	case class <= 14:
		return 8 * uintptr(class+2)
	case class <= 22:
		return 16 * uintptr(class-6)
	}
	return 32 * uintptr(class-14)
}

// scrub zeroes unused memory so that it compresses to nothing, and returns
// which pages hold nothing but unused memory. Memory that is zero already is
// not written, which would copy its page.
func scrub(c *control) []bool {
	skip := make([]bool, c.used()/pageSize)
	scrubPools(c.runtime())
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

// scrubPools zeroes the free blocks of QuickJS's pools.
func scrubPools(rt *lib.TJSRuntime) {
	for class := range poolClasses {
		head := &rt.Fmalloc_ctx.Ffree_arena_list[class]
		size := poolBlockSize(class)
		for p := head.Fnext; at[lib.Tlist_head](p) != head; p = at[lib.Tlist_head](p).Fnext {
			pool := at[lib.TJSMallocArena](p)
			for i, n := pool.Ffirst_free_block, pool.Fn_blocks; i != lib.MFREE_NIL && n > 0; n-- {
				b := p + poolHeader + uintptr(i)*size
				i = *at[uint16](b)
				zero(b+blockHead, b+size)
			}
		}
	}
}
