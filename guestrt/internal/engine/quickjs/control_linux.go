//go:build linux && (amd64 || arm64)

package quickjs

import (
	"unsafe"

	"github.com/quoinhq/quoin/internal/wire"
)

const (
	controlMagic = 0x316d76_6e696f75_71 // "quoinvm1"
	controlSize  = 2 * pageSize
)

// control lies at the start of the arena and is part of every image. It holds
// addresses inside the arena and plain data only.
type control struct {
	magic   uint64
	heap    heap
	rt, ctx uintptr

	// full is the memory limit. heap.limit stays reserve below it until the
	// first crossing, so that the guest can handle the error.
	full    uint64
	kill    uint64 // not 0 after a second crossing
	limits  wire.Limits
	loaded  uint64 // not 0 once a cell was started
	settled uint64 // heap.live at the last full collection for an image
	lost    uint64 // not 0 once there was no memory to note a rejection

	// Functions of the prelude and the array of rejections, as owned values.
	start, settle, fire, drain, rejections value

	// cell is the cell's function, cellColumn how far into the first line of the
	// program it starts.
	cell       value
	cellColumn uint64
}

var _ [controlSize - unsafe.Sizeof(control{})]byte // control fits

// ctl is the live arena's control block.
func ctl() *control { return at[control](arenaBase) }

// setMemoryLimit applies a memory limit with its reserve.
func (c *control) setMemoryLimit(n uint64) {
	c.full = n
	c.heap.limit = n - reserveOf(n)
	if c.heap.crossings > 0 {
		c.heap.limit = n
	}
}

// reserveOf is the part of a memory limit kept for handling its first crossing.
func reserveOf(limit uint64) uint64 { return min(64<<10, limit/16) }

// crossed records that an allocation was refused.
func (c *control) crossed() {
	if c.heap.limit < c.full {
		c.heap.limit = c.full
		return
	}
	c.kill = 1
}

// boundCollection keeps the collector's threshold below the memory limit, so
// that cyclic garbage is collected before the limit is crossed.
func (c *control) boundCollection() {
	if c.rt == 0 {
		return
	}
	if c.collectAt() <= c.heap.limit || c.heap.live > c.heap.limit {
		return
	}
	room := c.heap.limit - c.heap.live
	t := c.heap.limit - min(c.heap.limit, 64)
	if room > c.heap.limit/16 {
		t = c.heap.live + room/2
	}
	c.setCollectAt(t)
}

// inArena reports whether p is a plausible address of an allocation.
func (c *control) inArena(p uintptr) bool {
	return p >= c.heap.start && p < c.heap.brk && p%blockAlign == 0
}

// used is the number of arena bytes in use, in whole pages.
func (c *control) used() uint64 { return roundPage(uint64(c.heap.brk - arenaBase)) }
