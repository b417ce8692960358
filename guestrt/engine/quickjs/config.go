package quickjs

import (
	"github.com/quoinhq/quoin/guestrt/prelude"
	"github.com/quoinhq/quoin/guestrt/wire"
)

// engineID names the engine and everything of it that an image depends on
// beside the executable: the QuickJS release and the layout of the arena.
const engineID = "quickjs-2026-06-04/libquickjs-0.14.0/arena-1"

// Config configures Open.
type Config struct {
	// BuildID identifies the executable, usually its SHA-256. Images of
	// another build are refused.
	BuildID [32]byte
	// Prelude is the guest prelude's source. Defaults to prelude.JS.
	Prelude string
	// ReserveBytes is the address space set aside for the arena, rounded up to
	// pages. It bounds the memory limit. Defaults to 1.25 GiB.
	ReserveBytes uint64
}

const (
	pageSize = 4096

	defaultReserve = 1<<30 + 1<<28
	minReserve     = 16 << 20

	defaultMemory      = 64 << 20
	defaultValueBytes  = 8 << 20
	defaultNodes       = 1_000_000
	defaultDepth       = 200
	defaultOutputItems = 10_000
)

// fill sets the fields that have a default.
func (c Config) fill() Config {
	if c.Prelude == "" {
		c.Prelude = prelude.JS
	}
	if c.ReserveBytes == 0 {
		c.ReserveBytes = defaultReserve
	}
	c.ReserveBytes = roundPage(c.ReserveBytes)
	return c
}

// withDefaults fills the zero fields of l.
func withDefaults(l wire.Limits) wire.Limits {
	set(&l.MemoryBytes, defaultMemory)
	set(&l.MaxValueBytes, defaultValueBytes)
	set(&l.MaxNodes, defaultNodes)
	set(&l.MaxDepth, defaultDepth)
	set(&l.MaxOutputItems, defaultOutputItems)
	return l
}

func set[T uint32 | uint64](p *T, v T) {
	if *p == 0 {
		*p = v
	}
}

func roundPage(n uint64) uint64 { return (n + pageSize - 1) &^ (pageSize - 1) }
