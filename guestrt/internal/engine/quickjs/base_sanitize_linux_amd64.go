//go:build quickjs_sanitize

package quickjs

// arenaBase lies below the heap of AddressSanitizer, which has the address that other
// builds take.
const arenaBase = uintptr(0x5000_0000_0000)
