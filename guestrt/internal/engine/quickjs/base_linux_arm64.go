package quickjs

// arenaBase lies above the lowest 128 TiB, where the Go runtime puts its heap
// at a random address, and below the mappings the kernel places. A kernel with
// 39-bit addresses does not have it: Open fails there.
const arenaBase = uintptr(0xa000_0000_0000)
