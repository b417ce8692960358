//go:build !linux

package host

// CalmTimers does nothing on this system.
func CalmTimers() error { return nil }
