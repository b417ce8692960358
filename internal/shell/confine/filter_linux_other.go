//go:build linux && !amd64

package confine

import "github.com/quoinhq/quoin/internal/lockdown"

var refusedHere []uint32

// filterHere adds no rules: the calls of before the ones with "at" are amd64's alone.
func filterHere(*lockdown.Filter, uint32) {}
