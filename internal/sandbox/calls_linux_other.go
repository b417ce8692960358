//go:build linux && !amd64 && !arm64

package sandbox

import "github.com/quoinhq/quoin/internal/lockdown"

var probingHere []uint32

func onlyHere(*lockdown.Filter, uint32) {}
