//go:build !soak

package soak_test

import "time"

// How long and how much without the build tag soak.
const (
	defaultTime   = 20 * time.Second
	manyCells     = 1000
	manySuspended = 500
	stormTime     = 3 * time.Second
)
