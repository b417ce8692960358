//go:build linux && (amd64 || arm64) && !quickjs_c

package quickjs

// wantMemory makes the library ask the system for more memory than there is: for a
// stack frame of C.
func wantMemory(j js) { j.tls.Alloc(1 << 46) }
