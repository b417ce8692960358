//go:build !quickjs_sanitize

package quickjs

// arenaBase lies above the lowest 64 TiB, where the Go runtime puts its heap at
// a random address, below the stack and the mappings the kernel places, and
// outside the race detector's shadow memory.
const arenaBase = uintptr(0x6000_0000_0000)
