//go:build !quickjs_c

package sandbox

import "github.com/quoinhq/quoin/internal/lockdown"

// boundLibrary does nothing: this process has no C library.
func boundLibrary() error { return nil }

// forLibrary adds no rule, for the same reason.
func forLibrary(*lockdown.Filter) {}
