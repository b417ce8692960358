//go:build linux && !amd64 && !arm64

package lockdown

// Arch says that no filter is written for this architecture.
const Arch = 0
