//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

import lib "modernc.org/libquickjs"

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

// scrubPools zeroes the free blocks of QuickJS's pools.
func (c *control) scrubPools() {
	rt := c.runtime()
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
