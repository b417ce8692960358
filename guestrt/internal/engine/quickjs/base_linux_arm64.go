package quickjs

// arenaBase is an address that kernels with 39 bits of addresses have as well, and
// emulators on machines with fewer than 48. It lies above the executable and the
// break, which starts at most 1 GiB behind it, below the shadow memory of
// AddressSanitizer and the lowest place where a kernel puts mappings. The Go runtime
// puts its heap at a random address and takes the arena's once in 100,000 processes,
// on a kernel with 39 bits once in 1,000: Open fails there with engine.ErrBusy, and
// a host starts the worker once more.
const arenaBase = uintptr(0x8_0000_0000)

// The arena ends below 1<<36, where the shadow memory starts.
const _ = 1<<36 - maxReserve - arenaBase
