//go:build soak

package soak_test

import "time"

// How long and how much with the build tag soak.
const (
	defaultTime   = 5 * time.Minute
	manyCells     = 10_000
	manySuspended = 50_000
	stormTime     = 30 * time.Second
)
