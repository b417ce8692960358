package quickjs

import (
	"github.com/quoinhq/quoin/guestrt/internal/prelude"
	"github.com/quoinhq/quoin/internal/wire"
)

// Config configures Open.
type Config struct {
	// BuildID identifies the executable, usually its SHA-256. Images of
	// another build are refused.
	BuildID [32]byte
	// Prelude is the guest prelude's source. Defaults to prelude.JS.
	Prelude string
	// ReserveBytes is the address space set aside for the arena, rounded up to
	// the largest pages of a kernel. It bounds the memory limit. Defaults to 1.25 GiB.
	ReserveBytes uint64
}

const (
	// pageSize is the unit in which images say what differs. Kernels may have pages
	// of several.
	pageSize      = 4096
	maxKernelPage = 64 << 10 // the largest that an arm64 has

	defaultReserve = 1<<30 + 1<<28
	minReserve     = 16 << 20
	maxReserve     = 16 << 30
)

// fill sets the fields that have a default.
func (c Config) fill() Config {
	if c.Prelude == "" {
		c.Prelude = prelude.JS
	}
	if c.ReserveBytes == 0 {
		c.ReserveBytes = defaultReserve
	}
	c.ReserveBytes = (c.ReserveBytes + maxKernelPage - 1) &^ (maxKernelPage - 1)
	return c
}

// defaultLimits are the defaults that package wire documents.
var defaultLimits = wire.Limits{
	MemoryBytes:    64 << 20,
	MaxValueBytes:  8 << 20,
	MaxNodes:       1_000_000,
	MaxDepth:       200,
	MaxOutputItems: 10_000,
}

// orElse fills the zero fields of l from other.
func orElse(l, other wire.Limits) wire.Limits {
	set(&l.MemoryBytes, other.MemoryBytes)
	set(&l.MaxValueBytes, other.MaxValueBytes)
	set(&l.MaxNodes, other.MaxNodes)
	set(&l.MaxDepth, other.MaxDepth)
	set(&l.MaxOutputItems, other.MaxOutputItems)
	return l
}

func set[T uint32 | uint64](p *T, v T) {
	if *p == 0 {
		*p = v
	}
}

func roundPage(n uint64) uint64 { return (n + pageSize - 1) &^ (pageSize - 1) }
