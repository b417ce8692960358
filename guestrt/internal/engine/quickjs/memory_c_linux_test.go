//go:build linux && (amd64 || arm64) && quickjs_c

package quickjs

import "github.com/quoinhq/quoin/guestrt/internal/engine"

// wantMemory is a panic of our own: the library takes no memory of the system's.
func wantMemory(js) { panic(engine.ErrMemory) }
