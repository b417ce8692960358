//go:build linux && !amd64 && !arm64

package sandbox

// No filter is written for this architecture.
const auditArch = 0

var probingHere []uint32

func (p *program) onlyHere(uint32) {}
