package wire

// The defaults of Limits.
const (
	DefaultMemoryBytes    = 64 << 20
	DefaultMaxValueBytes  = 8 << 20
	DefaultMaxNodes       = 1_000_000
	DefaultMaxDepth       = 200
	DefaultMaxOutputItems = 10_000
)

// Filled returns the limits with a default in place of every zero.
func (l Limits) Filled() Limits {
	fill(&l.MemoryBytes, DefaultMemoryBytes)
	fill(&l.MaxValueBytes, DefaultMaxValueBytes)
	fill(&l.MaxNodes, DefaultMaxNodes)
	fill(&l.MaxDepth, DefaultMaxDepth)
	fill(&l.MaxOutputItems, DefaultMaxOutputItems)
	return l
}

func fill[T uint32 | uint64](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}
